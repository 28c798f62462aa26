/**
 * Lossless JSON. A number in a payload may have 5,000 digits, which `JSON.parse` would round. Such numbers are kept as text, in an `Exact`.
 * Only documents that may contain such a number take the slow path.
 */

export class Exact {
  constructor(readonly text: string) {}
}

const SUSPECT = /(?:^|[:[,\s])-?\d(?:[\d.]{15}|[\d.]*[eE])/;

export function parse(text: string): unknown {
  return SUSPECT.test(text) ? new Parser(text).whole() : (JSON.parse(text) as unknown);
}

/** Serialize without loss. With `indent` 0 the result is one line. */
export function stringify(value: unknown, indent = 0, depth = 0): string {
  if (value instanceof Exact) return value.text;
  if (value === null || typeof value !== "object") return JSON.stringify(value) ?? "null";
  const [open, close, parts] = Array.isArray(value)
    ? ["[", "]", value.map((one) => stringify(one, indent, depth + 1))]
    : [
        "{",
        "}",
        Object.entries(value).map(
          ([key, one]) => `${JSON.stringify(key)}:${indent ? " " : ""}${stringify(one, indent, depth + 1)}`,
        ),
      ];
  if (!parts.length) return open + close;
  if (!indent) return open + parts.join(",") + close;
  const pad = " ".repeat(indent * (depth + 1));
  return `${open}\n${pad}${parts.join(`,\n${pad}`)}\n${" ".repeat(indent * depth)}${close}`;
}

class Parser {
  private at = 0;
  constructor(private readonly text: string) {}

  whole(): unknown {
    const value = this.value();
    this.space();
    if (this.at < this.text.length) this.fail();
    return value;
  }

  private value(): unknown {
    this.space();
    const first = this.text[this.at];
    if (first === "{") return this.object();
    if (first === "[") return this.array();
    if (first === '"') return this.string();
    for (const [word, value] of WORDS) {
      if (this.text.startsWith(word, this.at)) {
        this.at += word.length;
        return value;
      }
    }
    return this.number();
  }

  private object(): Record<string, unknown> {
    const made: Record<string, unknown> = {};
    this.at++;
    this.space();
    if (this.eat("}")) return made;
    do {
      this.space();
      const key = this.string();
      this.space();
      if (!this.eat(":")) this.fail();
      const value = this.value();
      // Use `defineProperty`, so that the key "__proto__" is stored like any other.
      Object.defineProperty(made, key, { value, enumerable: true, writable: true, configurable: true });
      this.space();
    } while (this.eat(","));
    if (!this.eat("}")) this.fail();
    return made;
  }

  private array(): unknown[] {
    const made: unknown[] = [];
    this.at++;
    this.space();
    if (this.eat("]")) return made;
    do {
      made.push(this.value());
      this.space();
    } while (this.eat(","));
    if (!this.eat("]")) this.fail();
    return made;
  }

  private string(): string {
    const begin = this.at;
    if (!this.eat('"')) this.fail();
    while (this.at < this.text.length && this.text[this.at] !== '"') this.at += this.text[this.at] === "\\" ? 2 : 1;
    this.at++;
    return JSON.parse(this.text.slice(begin, this.at)) as string;
  }

  private number(): number | Exact {
    NUMBER.lastIndex = this.at;
    const found = NUMBER.exec(this.text);
    if (!found) this.fail();
    this.at = NUMBER.lastIndex;
    const number = Number(found[0]);
    return plain(number) === plain(found[0]) ? number : new Exact(found[0]);
  }

  private space(): void {
    SPACE.lastIndex = this.at;
    SPACE.exec(this.text);
    this.at = SPACE.lastIndex;
  }

  private eat(character: string): boolean {
    const there = this.text[this.at] === character;
    if (there) this.at++;
    return there;
  }

  private fail(): never {
    throw new SyntaxError(`not valid JSON at character ${this.at}`);
  }
}

/** A number's text without trailing zeros: 1.50 becomes 1.5, while 1E3 and 1000 stay different. */
function plain(number: number | string): string {
  const text = String(number).toLowerCase();
  return text.includes(".") && !text.includes("e") ? text.replace(/\.?0+$/, "") : text;
}

const WORDS: [string, unknown][] = [
  ["true", true],
  ["false", false],
  ["null", null],
];
const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const SPACE = /[ \t\r\n]*/y;
