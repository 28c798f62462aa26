/** Text that is code or output, and copying it. */

import { useEffect, useRef, useState } from "react";
import { Button } from "./Button";

/** Copies what `text` gives when it is pressed. */
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

/** The clipboard needs a secure context; over plain HTTP a selection does it. */
async function write(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  (document.querySelector("dialog[open]") ?? document.body).append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

/** A block of text as it is. `tail`: it grows at its end, and who looks at the end goes on seeing it. */
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

/** An id: short to read, whole to copy and in the title. Of a UUIDv7 the end differs, and the beginning is its time. */
export function Id({ id }: { id: string }) {
  return (
    <code className="id" title={id}>
      {id.length > 13 ? `${id.slice(0, 4)}…${id.slice(-8)}` : id}
    </code>
  );
}
