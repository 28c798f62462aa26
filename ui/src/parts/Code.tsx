/** Blocks of code or output, ids, and copy buttons. */

import { useEffect, useRef, useState } from "react";
import { Button } from "./Button";

/** A button that copies `text`. If `text` is a function, it is called when the button is pressed. */
export function Copy({ text, label, words }: { text: string | (() => string); label: string; words?: string }) {
  const [done, setDone] = useState(false);
  useEffect(() => {
    if (!done) return;
    const timer = setTimeout(() => setDone(false), 1500);
    return () => clearTimeout(timer);
  }, [done]);
  const copy = async () => {
    await write(typeof text === "string" ? text : text());
    setDone(true);
  };
  return (
    <Button kind={words ? "normal" : "plain"} icon={done ? "check" : "copy"} aria-label={words ? undefined : label} title={label} onClick={() => void copy()}>
      {words && (done ? "Copied" : words)}
    </Button>
  );
}

/** The clipboard API needs a secure context. Over plain HTTP, copy from a temporary text area. */
async function write(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  (document.querySelector("dialog[open]") ?? document.body).append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

/** A block of preformatted text. With `tail` it stays scrolled to its end while it grows. */
export function Code({ text, label, tail }: { text: string; label: string; tail?: boolean }) {
  const box = useRef<HTMLPreElement>(null);
  const stuck = useRef(true);
  useEffect(() => {
    if (tail && stuck.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [text, tail]);
  return (
    <div className="code">
      <div className="json-tools">
        <Copy text={text} label={`Copy ${label}`} />
      </div>
      <pre
        ref={box}
        tabIndex={0}
        role="region"
        aria-label={label}
        onScroll={(event) => {
          const { scrollTop, scrollHeight, clientHeight } = event.currentTarget;
          stuck.current = scrollHeight - scrollTop - clientHeight < 20;
        }}
      >
        {text}
      </pre>
    </div>
  );
}

/** A shortened id, with the full id in the title. UUIDv7s created at the same time differ only at the end, so both ends are shown. */
export function Id({ id }: { id: string }) {
  return (
    <code className="id" title={id}>
      {id.length > 13 ? `${id.slice(0, 4)}…${id.slice(-8)}` : id}
    </code>
  );
}
