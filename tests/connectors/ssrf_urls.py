"""URLs that connectors must reject (S9). `{port}` is the port of a canary that listens on every address of this machine."""
# ruff: noqa: RUF001 - characters that look like others are the point

LOOPBACK = [
    "http://127.0.0.1:{port}/", "http://127.0.0.1:{port}", "https://127.0.0.1:{port}/", "http://127.0.0.2:{port}/",
    "http://127.255.255.254:{port}/", "http://localhost:{port}/", "http://LOCALHOST:{port}/", "http://localhost.:{port}/",
    "http://localhost.localdomain:{port}/", "http://foo.localhost:{port}/", "http://ip6-localhost:{port}/", "http://0.0.0.0:{port}/",
    "http://0.1.2.3:{port}/", "http://[::1]:{port}/", "http://[0:0:0:0:0:0:0:1]:{port}/", "http://[::]:{port}/",
    "http://[0000:0000:0000:0000:0000:0000:0000:0001]:{port}/",
]  # fmt: skip
ODD_NUMBERS = [
    "http://127.1:{port}/", "http://127.0.1:{port}/", "http://2130706433:{port}/", "http://0x7f000001:{port}/", "http://0x7f.1:{port}/",
    "http://0x7f.0.0.1:{port}/", "http://0X7F.0X0.0X0.0X1:{port}/", "http://0177.0.0.1:{port}/", "http://0177.1:{port}/",
    "http://017700000001:{port}/", "http://00000177.00.00.01:{port}/", "http://127.0.0.01:{port}/", "http://127.000.000.001:{port}/",
    "http://127.0.0.1.:{port}/", "http://127.0.0.1..:{port}/", "http://.127.0.0.1:{port}/", "http://0:{port}/", "http://00:{port}/",
    "http://0x0:{port}/", "http://0.0:{port}/", "http://127.0.0.256:{port}/", "http://383.0.0.1:{port}/", "http://4294967297:{port}/",
    "http://1.2.3.4.5:{port}/", "http://127.0.0.0x1:{port}/", "http://127.0.0.1e0:{port}/", "http://example.0x7f000001:{port}/",
    "http://foo.1:{port}/", "http://127。0。0。1:{port}/", "http://127．0．0．1:{port}/", "http://127｡0｡0｡1:{port}/",
    "http://１２７.0.0.1:{port}/", "http://①②⑦.0.0.1:{port}/", "http://१२७.0.0.1:{port}/", "http://ⓛocalhost:{port}/",
    "http://ｌｏｃａｌｈｏｓｔ:{port}/", "http://loc\u00adalhost:{port}/", "http://loc\u200balhost:{port}/",
    "http://xn--0.xn--1:{port}/", "http://xn--127-0-0-1:{port}/", "http://%31%32%37.0.0.1:{port}/", "http://127.0.0.1%00.example.com:{port}/",
    "http://127%2e0%2e0%2e1:{port}/",
]  # fmt: skip
MAPPED = [
    "http://[::ffff:127.0.0.1]:{port}/", "http://[::ffff:7f00:1]:{port}/", "http://[0:0:0:0:0:ffff:127.0.0.1]:{port}/",
    "http://[::127.0.0.1]:{port}/", "http://[::7f00:1]:{port}/", "http://[::ffff:0:127.0.0.1]:{port}/", "http://[64:ff9b::127.0.0.1]:{port}/",
    "http://[64:ff9b::7f00:1]:{port}/", "http://[64:ff9b::a9fe:a9fe]:{port}/", "http://[64:ff9b::10.0.0.1]:{port}/",
    "http://[64:ff9b:1::7f00:1]:{port}/", "http://[2002:7f00:1::]:{port}/", "http://[2002:7f00:0001::1]:{port}/",
    "http://[2002:a9fe:a9fe::1]:{port}/", "http://[2002:0a00:0001::1]:{port}/", "http://[2001:0:53aa:64c:0:0:80ff:fffe]:{port}/",
    "http://[2001::1]:{port}/", "http://[2001:0000:4136:e378:8000:63bf:3fff:fdd2]:{port}/",
    "http://[2600:1f00::5efe:127.0.0.1]:{port}/", "http://[2600:1f00::200:5efe:10.0.0.1]:{port}/", "http://[fe80::1]:{port}/",
    "http://[fe80::1%25lo]:{port}/", "http://[fe80::1%lo]:{port}/", "http://[::1%25lo]:{port}/", "http://[::1%lo]:{port}/",
    "http://[fc00::1]:{port}/", "http://[fd00:ec2::254]:{port}/", "http://[fd20:ce::254]:{port}/", "http://[fec0::1]:{port}/",
    "http://[ff02::1]:{port}/", "http://[2001:db8::1]:{port}/", "http://[100::1]:{port}/", "http://[3fff::1]:{port}/",
    "http://[5f00::1]:{port}/", "http://[4000::1]:{port}/", "http://[::ffff:169.254.169.254]:{port}/", "http://[v1.fe80::a]:{port}/",
    "http://[127.0.0.1]:{port}/", "http://[::1:{port}/", "http://::1:{port}/", "http://[:::1]:{port}/", "http://[::1]x:{port}/",
]  # fmt: skip
INTERNAL = [
    "http://10.0.0.1:{port}/", "http://10.255.255.255:{port}/", "http://172.16.0.1:{port}/", "http://172.31.255.255:{port}/",
    "http://192.168.0.1:{port}/", "http://100.64.0.1:{port}/", "http://100.127.255.255:{port}/", "http://198.18.0.1:{port}/",
    "http://192.0.0.1:{port}/", "http://192.0.2.1:{port}/", "http://198.51.100.1:{port}/", "http://203.0.113.1:{port}/",
    "http://192.88.99.1:{port}/", "http://224.0.0.1:{port}/", "http://239.255.255.255:{port}/", "http://240.0.0.1:{port}/",
    "http://255.255.255.255:{port}/", "http://router.lan:{port}/", "http://db.internal:{port}/", "http://printer.local:{port}/",
    "http://wiki.corp:{port}/", "http://intranet:{port}/", "http://kubernetes:{port}/", "http://host.home.arpa:{port}/",
]  # fmt: skip
METADATA = [
    "http://169.254.169.254/latest/meta-data/", "http://169.254.169.254:{port}/", "http://169.254.170.2/v2/credentials",
    "http://2852039166/latest/", "http://0xa9fea9fe/", "http://0251.0376.0251.0376/", "http://[::ffff:a9fe:a9fe]/",
    "http://[fd00:ec2::254]/latest/", "http://metadata.google.internal/computeMetadata/v1/", "http://metadata.google.internal./",
    "http://METADATA.GOOGLE.INTERNAL/", "http://metadata/", "http://100.100.100.200/latest/meta-data/", "http://192.0.0.192/latest/",
    "http://168.63.129.16/machine", "http://instance-data/latest/", "http://169.254.0.23/",
]  # fmt: skip
AUTHORITIES = [
    "http://public.example@127.0.0.1:{port}/", "http://user:pass@127.0.0.1:{port}/", "http://public.example:80@127.0.0.1:{port}/",
    "http://127.0.0.1:{port}@public.example/", "http://127.0.0.1:{port}#@public.example/", "http://127.0.0.1:{port}?@public.example/",
    "http://public.example\\@127.0.0.1:{port}/", "http://127.0.0.1:{port}\\@public.example/", "http:\\\\127.0.0.1:{port}\\",
    "http:/\\127.0.0.1:{port}/", "http:///127.0.0.1:{port}/", "http:127.0.0.1:{port}/", "//127.0.0.1:{port}/", "127.0.0.1:{port}/",
    "http://@127.0.0.1:{port}/", "http://:@127.0.0.1:{port}/", "http://%61@127.0.0.1:{port}/", "http://public.example%40127.0.0.1:{port}/",
    "http://public.example:{port}:80/", "http://127.0.0.1:0{port}0/", "http://127.0.0.1:/", "http://127.0.0.1:-{port}/",
    "http://127.0.0.1:+{port}/", "http://127.0.0.1:{port}.0/", "http://127.0.0.1:０８０/", "http://127.0.0.1:65616/", "http://:{port}/",
    "http://", "http:///", "http://?", "http://#", "http://..:{port}/", "http://-a.example:{port}/", "http://a..example:{port}/",
    "http://exa mple.com:{port}/", "http://127.0.0.1 :{port}/", " http://127.0.0.1:{port}/", "http://127.0.0.1:{port}/\r\nX: y",
    "http://127.0.0.1\t:{port}/", "http://127.0.0.1\n:{port}/", "ht\ntp://127.0.0.1:{port}/", "http://127.0.0.1\x00:{port}/",
    "http://127.0.0.1\u2028:{port}/", "http://{{127.0.0.1}}:{port}/", "http://127.0.0.1;public.example:{port}/",
    "http://127.0.0.1,public.example:{port}/", "http://public.example|127.0.0.1:{port}/", "http://$(hostname):{port}/",
]  # fmt: skip
SCHEMES = [
    "file:///etc/passwd", "file://127.0.0.1/etc/passwd", "gopher://127.0.0.1:{port}/_x", "dict://127.0.0.1:{port}/stats",
    "ftp://127.0.0.1:{port}/", "ldap://127.0.0.1:{port}/", "unix:///var/run/docker.sock", "http+unix://%2Fvar%2Frun%2Fdocker.sock/",
    "data:text/plain,x", "javascript:alert(1)", "jar:http://127.0.0.1:{port}!/", "netdoc:///etc/passwd", "ws://127.0.0.1:{port}/",
    "httpx://127.0.0.1:{port}/", "url:http://127.0.0.1:{port}/", "ｈttp://127.0.0.1:{port}/", "h\u0442tp://127.0.0.1:{port}/", "",
    "http", "http:", "/etc/passwd",
]  # fmt: skip
PORTS = [
    "http://public.example:22/", "http://public.example:25/", "http://public.example:5432/", "http://public.example:6379/",
    "http://public.example:11211/", "http://public.example:0/", "http://public.example:65536/", "http://public.example:99999/",
]  # fmt: skip

URLS = LOOPBACK + ODD_NUMBERS + MAPPED + INTERNAL + METADATA + AUTHORITIES + SCHEMES + PORTS
