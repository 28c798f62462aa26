/**
 * A workflow as a graph: the steps of a job in order. A fan-out of any size is one node with a progress bar. It can be expanded to show its
 * failed jobs. This module is loaded on first use.
 */

import dagre from "@dagrejs/dagre";
import { useQueries } from "@tanstack/react-query";
import { Background, Controls, Handle, Position, ReactFlow, type Edge, type Node, type NodeProps } from "@xyflow/react";
import "@xyflow/react/dist/base.css";
import { createContext, useContext, useMemo, useState } from "react";
import { call } from "../api/client";
import { keyOf, useTenant } from "../api/hooks";
import type { FanOut, JobPage, Status, Step } from "../api/types";
import { Badge, Tag } from "../parts/Badge";
import { Icon, type IconName } from "../parts/Icon";
import { duration } from "../parts/Time";
import { childrenOf, nameOf, nameOfFanOut } from "./workflow-rows";
import { FanOutBar, FanOutWords, ruleOf } from "./workflow-tree";
import "./workflow-graph.css";

/** The maximum number of children shown as nodes. If a fan-out has more, only failed children are shown. */
const SHOWN = 12;
const WIDTH = 236;
const HEIGHT: Record<Kind, number> = { job: 62, steps: 62, "fan-out": 106, more: 34 };
/** Height of the button that expands a node. */
const TURN = 28;

type Kind = "job" | "steps" | "fan-out" | "more";

interface JobLike {
  id: string;
  definition_key: string;
  status: Status;
  fan_out_index: number | null;
  last_error: string | null;
  /** Null if unknown. */
  fan_outs: number | null;
}

type Data =
  | { kind: "job"; job: JobLike; opens: boolean }
  | { kind: "steps"; steps: Step[] }
  | { kind: "fan-out"; fanOut: FanOut; name: string; opens: string | null }
  | { kind: "more"; words: string };

type Box = Node<Data & Record<string, unknown>, Kind>;

interface Acting {
  selected: string;
  opened: ReadonlySet<string>;
  select: (id: string) => void;
  turn: (id: string) => void;
}

const Acts = createContext<Acting | null>(null);

interface Props {
  root: JobPage;
  selected: string;
  onSelect: (id: string) => void;
}

export default function Graph({ root, selected, onSelect }: Props) {
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const read = useOpened(root, opened);
  const { nodes, edges } = useMemo(() => laidOut(root, opened, read), [root, opened, read]);
  const acting = useMemo(
    () => ({
      selected,
      opened,
      select: onSelect,
      turn: (id: string) => setOpened((old) => new Set(old.has(id) ? [...old].filter((one) => one !== id) : [...old, id])),
    }),
    [selected, opened, onSelect],
  );
  return (
    <Acts value={acting}>
      <div className="graph" role="group" aria-label="Graph">
        <ReactFlow
          nodes={nodes}
          edges={edges}
          nodeTypes={TYPES}
          fitView
          fitViewOptions={{ maxZoom: 1, padding: 0.15 }}
          minZoom={0.1}
          maxZoom={2}
          nodesDraggable={false}
          nodesConnectable={false}
          nodesFocusable={false}
          edgesFocusable={false}
          onlyRenderVisibleElements
          proOptions={{ hideAttribution: true }}
        >
          <Background gap={18} />
          <Controls showInteractive={false} />
        </ReactFlow>
      </div>
    </Acts>
  );
}

/** The data of expanded nodes: children of fan-outs, and jobs with their fan-outs. */
interface Read {
  children: ReadonlyMap<string, JobLike[]>;
  jobs: ReadonlyMap<string, JobPage>;
}

function useOpened(root: JobPage, opened: ReadonlySet<string>): Read {
  const tenant = useTenant();
  const ids = useMemo(() => [...opened], [opened]);
  const jobs = useQueries({
    queries: ids
      .filter((id) => id.startsWith("job:"))
      .map((id) => ({
        queryKey: keyOf("GET /jobs/{job_id}", tenant, { path: { job_id: id.slice(4) } }),
        queryFn: () => call("GET /jobs/{job_id}", { path: { job_id: id.slice(4) } }, tenant),
        refetchInterval: root.finished_at === null ? 3000 : (false as const),
      })),
    combine: (answers) => answers.flatMap(({ data }) => data ?? []),
  });
  const groups = [root, ...jobs].flatMap((job) => job.fan_outs.filter(({ id }) => opened.has(id)).map((fanOut) => ({ job, fanOut })));
  const children = useQueries({
    queries: groups.map(({ job, fanOut }) => ({
      queryKey: ["graph", tenant, fanOut.id, fanOut.total <= SHOWN, fanOut.failed, fanOut.succeeded],
      queryFn: (): Promise<JobLike[]> =>
        fanOut.total <= SHOWN
          ? call("GET /jobs/{job_id}/children", { path: { job_id: job.id }, query: { fan_out: fanOut.id, limit: SHOWN } }, tenant).then(({ items }) => items)
          : call("GET /jobs", { query: { fan_out: fanOut.id, status: ["failed", "dead_letter"], limit: SHOWN } }, tenant).then(({ items }) =>
              items.map((item) => ({ ...item, fan_outs: null })),
            ),
      placeholderData: (old: JobLike[] | undefined) => old,
    })),
    combine: (answers) => answers.map(({ data }) => data),
  });
  const named = groups.map(({ fanOut }) => fanOut.id).join();
  return useMemo(
    () => ({
      children: new Map(named.split(",").flatMap((id, at) => (children[at] ? [[id, children[at]] as const] : []))),
      jobs: new Map(jobs.map((job) => [job.id, job])),
    }),
    [named, children, jobs],
  );
}

function laidOut(root: JobPage, opened: ReadonlySet<string>, read: Read): { nodes: Box[]; edges: Edge[] } {
  const nodes: Box[] = [];
  const edges: Edge[] = [];
  const add = (id: string, data: Data, from?: string, kind: "next" | "child" = "next"): string => {
    nodes.push({ id, type: data.kind, data: data as Box["data"], position: { x: 0, y: 0 }, width: WIDTH, height: HEIGHT[data.kind] + ("opens" in data && data.opens ? TURN : 0), draggable: false });
    if (from) edges.push({ id: `${from} ${id}`, source: from, target: id, type: "smoothstep", className: `edge-${kind}` });
    return id;
  };
  const below = (job: JobPage, own: string) => {
    let last = own;
    for (const part of partsOf(job)) {
      if (Array.isArray(part)) last = add(`${job.id} ${part[0]!.seq}`, { kind: "steps", steps: part }, last);
      else {
        const opens = childrenOf(part) === 0 ? null : part.total <= SHOWN ? "jobs" : part.failed > 0 ? "failed jobs" : null;
        last = add(part.id, { kind: "fan-out", fanOut: part, name: nameOf(part, job), opens }, last);
        if (opened.has(part.id)) childrenBelow(part, last);
      }
    }
  };
  const childrenBelow = (fanOut: FanOut, own: string) => {
    const children = read.children.get(fanOut.id) ?? [];
    for (const child of children) {
      const id = `job:${child.id}`;
      add(id, { kind: "job", job: child, opens: child.fan_outs !== 0 }, own, "child");
      const whole = opened.has(id) && read.jobs.get(child.id);
      if (whole) below(whole, id);
    }
    const more = fanOut.total <= SHOWN ? 0 : fanOut.failed - children.length;
    if (children.length && more > 0) add(`${fanOut.id} more`, { kind: "more", words: `${more.toLocaleString()} more failed jobs` }, own, "child");
  };
  below(root, add(`job:${root.id}`, { kind: "job", job: { ...root, fan_outs: root.fan_outs.length }, opens: false }));

  const graph = new dagre.graphlib.Graph().setGraph({ rankdir: "LR", nodesep: 18, ranksep: 56 }).setDefaultEdgeLabel(() => ({}));
  for (const node of nodes) graph.setNode(node.id, { width: node.width!, height: node.height! });
  for (const edge of edges) graph.setEdge(edge.source, edge.target);
  dagre.layout(graph);
  for (const node of nodes) {
    const { x, y } = graph.node(node.id);
    node.position = { x: x - node.width! / 2, y: y - node.height! / 2 };
  }
  return { nodes, edges };
}

/** The parts of a job in order: its fan-outs, and the steps between them in groups. */
function partsOf(job: JobPage): (FanOut | Step[])[] {
  const parts: (FanOut | Step[])[] = [];
  const left = new Map(job.fan_outs.filter(({ total }) => total > 0).map((one) => [one.id, one]));
  for (const step of job.steps) {
    const fanOut = step.fan_out_id ? left.get(step.fan_out_id) : undefined;
    const before = parts.at(-1);
    if (fanOut) {
      parts.push(fanOut);
      left.delete(fanOut.id);
    } else if (Array.isArray(before)) before.push(step);
    else parts.push([step]);
  }
  return [...parts, ...left.values()];
}

function Frame({ id, icon, title, children, opens, turn }: { id: string | null; icon: IconName; title: string; children: React.ReactNode; opens?: string | null; turn?: string }) {
  const acts = useContext(Acts)!;
  const inner = (
    <>
      <span className="graph-title">
        <Icon name={icon} size={14} />
        <span className="cut" title={title}>
          {title}
        </span>
      </span>
      {children}
    </>
  );
  return (
    <div className={`graph-node ${id !== null && id === acts.selected ? "chosen" : ""}`} data-node={id ?? undefined}>
      <Handle type="target" position={Position.Left} isConnectable={false} />
      {id === null ? (
        <div className="graph-inner">{inner}</div>
      ) : (
        <button type="button" className="graph-inner" aria-pressed={id === acts.selected} onClick={() => acts.select(id)}>
          {inner}
        </button>
      )}
      {opens && turn && (
        <button type="button" className="graph-turn" aria-expanded={acts.opened.has(turn)} onClick={() => acts.turn(turn)}>
          <Icon name={acts.opened.has(turn) ? "left" : "right"} size={12} />
          {acts.opened.has(turn) ? `Hide ${opens}` : `Show ${opens}`}
        </button>
      )}
      <Handle type="source" position={Position.Right} isConnectable={false} />
    </div>
  );
}

function JobNode({ data }: NodeProps<Box>) {
  if (data.kind !== "job") return null;
  const { job, opens } = data;
  return (
    <Frame id={job.id} icon="jobs" title={`${job.definition_key}${job.fan_out_index === null ? "" : ` ${job.fan_out_index}`}`} opens={opens ? "steps" : null} turn={`job:${job.id}`}>
      <span className="row">
        <Badge status={job.status} />
        {job.last_error && <code className="quiet cut">{job.last_error.split("\n")[0]}</code>}
      </span>
    </Frame>
  );
}

function StepsNode({ data }: NodeProps<Box>) {
  if (data.kind !== "steps") return null;
  const { steps } = data;
  const failed = steps.some(({ error }) => error);
  const open = steps.some(({ done }) => !done);
  return (
    <Frame id={null} icon={failed ? "alert" : open ? "clock" : "check"} title={steps.length === 1 ? steps[0]!.name : `${steps.length} steps`}>
      <span className="quiet cut">{steps.length === 1 ? `${steps[0]!.kind}${open ? ", pending" : ""}${steps[0]!.took_s === null ? "" : `, ${duration(steps[0]!.took_s)}`}` : steps.map(({ name }) => name).join(", ")}</span>
    </Frame>
  );
}

function FanOutNode({ data }: NodeProps<Box>) {
  if (data.kind !== "fan-out") return null;
  const { fanOut, name, opens } = data;
  return (
    <Frame id={nameOfFanOut(fanOut.id)} icon="tree" title={`${name} × ${fanOut.total.toLocaleString()}`} opens={opens} turn={fanOut.id}>
      <FanOutBar fanOut={fanOut} />
      <span className="graph-words quiet">
        <FanOutWords fanOut={fanOut} />
      </span>
      <span className="hidden">{ruleOf(fanOut)}</span>
    </Frame>
  );
}

function MoreNode({ data }: NodeProps<Box>) {
  if (data.kind !== "more") return null;
  return (
    <div className="graph-more">
      <Handle type="target" position={Position.Left} isConnectable={false} />
      <Tag>{data.words}</Tag>
    </div>
  );
}

const TYPES = { job: JobNode, steps: StepsNode, "fan-out": FanOutNode, more: MoreNode };
