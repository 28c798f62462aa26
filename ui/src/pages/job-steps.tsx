/** The steps of a durable function in order. Completed steps are not executed again. */

import type { Step } from "../api/types";
import { Tag } from "../parts/Badge";
import { Code } from "../parts/Code";
import { Json } from "../parts/Json";
import { Panel } from "../parts/Page";
import { Time } from "../parts/Time";

export function Steps({ steps }: { steps: Step[] }) {
  return (
    <Panel>
      <ol className="steps">
        {steps.map((step) => (
          <li key={`${step.seq} ${step.name} ${step.occurrence}`}>
            <span className="quiet mono">{step.seq}</span>
            <Tag tone={step.error ? "bad" : step.done ? undefined : "warn"}>{step.kind.replaceAll("_", " ")}</Tag>
            <strong>
              {step.name}
              {step.occurrence > 0 && <span className="quiet">{` #${step.occurrence + 1}`}</span>}
              {!step.done && <span className="warn"> pending</span>}
            </strong>
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
