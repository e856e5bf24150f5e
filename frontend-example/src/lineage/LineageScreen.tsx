import {
  Background,
  BackgroundVariant,
  Controls,
  Handle,
  MiniMap,
  type NodeProps,
  Position,
  ReactFlow,
} from "@xyflow/react";
import "@xyflow/react/dist/style.css";
import { memo } from "react";
import { Link, useLocation } from "wouter";
import { sessionAddress } from "../ui/addresses";
import { counted } from "../ui/counted";
import { Empty, Failed, Loading } from "../ui/states";
import { Time } from "../ui/Time";
import type { SessionNode } from "./graph";
import { NODE } from "./layout";
import { useFamily } from "./useFamily";

const nodeTypes = { session: memo(SessionCard) };

export function LineageScreen({ id }: { id: string }) {
  const { graph, family, total, error, missing } = useFamily(id);
  const [, navigate] = useLocation();

  if (error) return <Failed error={error} />;
  if (missing) return <Empty title="There is no such session." />;
  if (!graph || !family) return <Loading />;
  const cites = family.citations.references?.nodes.length ?? 0;
  const cited = family.citations.referencedBy?.nodes.length ?? 0;
  return (
    <div className="lineage">
      <div className="lineage-heading">
        <h1>
          Lineage of <Link href={sessionAddress(id)}>{family.target.title ?? id}</Link>
        </h1>
        <p className="facts quiet">
          <span>{counted(family.ancestors.length, "ancestor")}</span>
          <span>{counted(total, "descendant")}</span>
          <span>cites {cites}</span>
          <span>cited by {cited}</span>
        </p>
        {family.unresolvedParentId !== null && (
          <p className="note" role="note">
            The line ends early: the parent <code>{family.unresolvedParentId}</code> is not in this
            corpus.
          </p>
        )}
      </div>
      <div className="graph">
        <ReactFlow<SessionNode>
          nodes={graph.nodes}
          edges={graph.edges}
          nodeTypes={nodeTypes}
          // Thousands of nodes stay fluent because only those in view are in the document.
          onlyRenderVisibleElements
          nodesDraggable={false}
          nodesConnectable={false}
          elementsSelectable={false}
          minZoom={0.05}
          colorMode="system"
          fitView
          // All of a small family; of a large one the surroundings of the session.
          fitViewOptions={{
            maxZoom: 1.3,
            minZoom: 0.6,
            ...(graph.nodes.length > 60 && { nodes: [{ id }] }),
          }}
          onNodeClick={(_, node) => {
            if (node.data.session) navigate(sessionAddress(node.id));
          }}
          proOptions={{ hideAttribution: false }}
        >
          <Background variant={BackgroundVariant.Dots} gap={24} />
          <Controls showInteractive={false} />
          <MiniMap pannable zoomable ariaLabel="Overview" />
        </ReactFlow>
      </div>
    </div>
  );
}

function SessionCard({ id, data: { session, target } }: NodeProps<SessionNode>) {
  const style = { width: NODE.width, height: NODE.height };
  return (
    <div
      className={`card${target ? " card-target" : ""}${session ? "" : " card-unknown"}`}
      style={style}
    >
      <Handle type="target" position={Position.Left} isConnectable={false} />
      <span className="card-title">
        {session ? (
          <Link href={sessionAddress(id)} aria-current={target || undefined}>
            {session.title ?? id}
          </Link>
        ) : (
          <span className="mono">{id}</span>
        )}
      </span>
      <span className="card-facts quiet">
        {session ? (
          <>
            {session.live && <span className="badge badge-live">live</span>}
            <span>{session.header.origin ?? (target ? "this session" : "session")}</span>
            <Time at={session.header.createdAt} />
          </>
        ) : (
          "not read here"
        )}
      </span>
      <Handle type="source" position={Position.Right} isConnectable={false} />
      <Handle id="below" type="source" position={Position.Bottom} isConnectable={false} />
      <Handle id="after" type="target" position={Position.Right} isConnectable={false} />
    </div>
  );
}
