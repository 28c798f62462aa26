/** The steps of a durable function in order, with their durations. Completed steps are not executed again. */

import type { Step } from "../api/types";
import { Tag } from "../parts/Badge";
import { Code } from "../parts/Code";
import { Json } from "../parts/Json";
import { Panel } from "../parts/Page";
import { Duration, Time } from "../parts/Time";

export function Steps({ steps }: { steps: Step[] }) {
  const timed = steps.filter(({ took_s }) => took_s !== null);
  const slowest = timed.length > 1 ? timed.reduce((one, other) => (other.took_s! > one.took_s! ? other : one)) : null;
  return (
    <Panel>
      <ol className="steps">
        {steps.map((step) => (
          <li key={`${step.seq} ${step.name} ${step.occurrence}`}>
            <span className="quiet mono">{step.seq}</span>
            <Tag tone={step.error ? "bad" : step.done ? undefined : "warn"}>{step.kind.replaceAll("_", " ")}</Tag>
            <strong>
              {nameOfStep(step)}
              {!step.done && <span className="warn"> pending</span>}
              {step === slowest && (
                <>
                  {" "}
                  <Tag tone="warn">slowest</Tag>
                </>
              )}
            </strong>
            <span className="took">{step.took_s !== null && <Duration seconds={step.took_s} />}</span>
            <span className="quiet">
              {`attempt ${step.attempt}, `}
              <Time at={step.at} />
              {step.due_at && !step.done && (
                <>
                  {", due "}
                  <Time at={step.due_at} />
                </>
              )}
            </span>
            {step.error && (
              <div className="value">
                <Code text={step.error} label={`Error of step ${step.name}`} />
              </div>
            )}
            {step.done && step.value !== null && (
              <div className="value">
                <Json value={step.value} label={`value of step ${step.name}`} open={1} />
              </div>
            )}
          </li>
        ))}
      </ol>
    </Panel>
  );
}

/** Occurrences of a name count from 1. */
export const nameOfStep = ({ name, occurrence }: Step) => (occurrence > 1 ? `${name} ${occurrence}` : name);
