/** The plan as a drawing that can be moved, zoomed and searched, with the details of one operator. */
import { memo } from "preact/compat";
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Profile } from "../../api";
import { percent, seconds, shortCount } from "../../format";
import { Icon } from "../../parts/icons";
import { Empty } from "../../parts/parts";
import { OperatorPanel } from "./operator_panel";
import {
  BOX_HEIGHT,
  BOX_WIDTH,
  type Box,
  detailOf,
  drawPlan,
  edgePath,
  findOperators,
  type PlanDrawing,
} from "./plan_layout";

interface View {
  x: number;
  y: number;
  scale: number;
}

const LEAST_SCALE = 0.04;
const MOST_SCALE = 2;
const READABLE_SCALE = 0.78;

/** Zoom and position of a drawing in its frame. The frame and the layer are found by their refs. */
function useView(drawing: PlanDrawing) {
  const frame = useRef<HTMLDivElement>(null);
  const layer = useRef<SVGGElement>(null);
  const view = useRef<View>({ x: 0, y: 0, scale: 1 });
  const show = useCallback((next: View) => {
    view.current = { ...next, scale: Math.min(MOST_SCALE, Math.max(LEAST_SCALE, next.scale)) };
    const { x, y, scale } = view.current;
    layer.current?.setAttribute("transform", `translate(${x},${y}) scale(${scale})`);
    frame.current?.classList.toggle("far", scale < 0.45);
    frame.current?.classList.toggle("map", scale < 0.16);
  }, []);
  const size = useCallback(() => frame.current?.getBoundingClientRect() ?? new DOMRect(0, 0, 800, 500), []);
  const showAll = useCallback(() => {
    const { width, height } = size();
    const scale = Math.min(1, width / drawing.width, height / drawing.height);
    show({ scale, x: (width - drawing.width * scale) / 2, y: Math.max(0, (height - drawing.height * scale) / 2) });
  }, [drawing, show, size]);
  /** The whole plan if it stays readable, else its top. */
  const begin = useCallback(() => {
    const { width, height } = size();
    const scale = Math.min(1, Math.max(READABLE_SCALE, Math.min(width / drawing.width, height / drawing.height)));
    const root = (drawing.boxes[0]?.x ?? 0) + BOX_WIDTH / 2;
    const isNarrow = drawing.width * scale <= width;
    show({ scale, x: isNarrow ? (width - drawing.width * scale) / 2 : width / 2 - root * scale, y: 0 });
  }, [drawing, show, size]);
  const zoom = useCallback(
    (factor: number, at?: { x: number; y: number }) => {
      const { width, height } = size();
      const { x, y, scale } = view.current;
      const centre = at ?? { x: width / 2, y: height / 2 };
      const next = Math.min(MOST_SCALE, Math.max(LEAST_SCALE, scale * factor));
      const grown = next / scale;
      show({ scale: next, x: centre.x - (centre.x - x) * grown, y: centre.y - (centre.y - y) * grown });
    },
    [show, size],
  );
  const reveal = useCallback(
    (box: Box) => {
      const { width, height } = size();
      const scale = Math.max(0.75, view.current.scale);
      show({
        scale,
        x: width / 2 - (box.x + BOX_WIDTH / 2) * scale,
        y: height / 2 - (box.y + BOX_HEIGHT / 2) * scale,
      });
    },
    [show, size],
  );
  const move = useCallback(
    (dx: number, dy: number) => {
      show({ ...view.current, x: view.current.x + dx, y: view.current.y + dy });
    },
    [show],
  );
  return { frame, layer, begin, showAll, zoom, reveal, move };
}

/** Drag to move, and zoom with the wheel and Ctrl. The frame takes the plain wheel only if it fills the window. */
function usePointer(view: ReturnType<typeof useView>, isLarge: boolean) {
  const { frame, zoom, move } = view;
  useEffect(() => {
    const element = frame.current;
    if (!element) return;
    const onWheel = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey && !isLarge) return;
      event.preventDefault();
      const area = element.getBoundingClientRect();
      if (event.ctrlKey || event.metaKey) {
        zoom(Math.exp(-event.deltaY / 300), { x: event.clientX - area.left, y: event.clientY - area.top });
      } else move(-event.deltaX, -event.deltaY);
    };
    let isDown = false;
    let isDragged = false;
    const onDown = (event: PointerEvent) => {
      if (event.button !== 0) return;
      isDown = true;
      isDragged = false;
    };
    const onMove = (event: PointerEvent) => {
      if (!isDown) return;
      if (!isDragged && Math.abs(event.movementX) + Math.abs(event.movementY) < 2) return;
      if (!isDragged) element.setPointerCapture(event.pointerId);
      isDragged = true;
      move(event.movementX, event.movementY);
    };
    const onUp = () => {
      isDown = false;
    };
    const onClick = (event: MouseEvent) => {
      if (isDragged) event.stopPropagation();
    };
    element.addEventListener("wheel", onWheel, { passive: false });
    element.addEventListener("pointerdown", onDown);
    element.addEventListener("pointermove", onMove);
    element.addEventListener("pointerup", onUp);
    element.addEventListener("pointercancel", onUp);
    element.addEventListener("click", onClick, { capture: true });
    return () => {
      element.removeEventListener("wheel", onWheel);
      element.removeEventListener("pointerdown", onDown);
      element.removeEventListener("pointermove", onMove);
      element.removeEventListener("pointerup", onUp);
      element.removeEventListener("pointercancel", onUp);
      element.removeEventListener("click", onClick, { capture: true });
    };
  }, [frame, zoom, move, isLarge]);
}

/** The box that an arrow key leads to. */
export function neighbour(box: Box, key: string): Box | undefined {
  if (key === "ArrowUp") return box.parent ?? undefined;
  if (key === "ArrowDown") return box.children[0];
  const siblings = box.parent?.children ?? [];
  const at = siblings.indexOf(box);
  if (key === "ArrowLeft") return siblings[at - 1];
  return key === "ArrowRight" ? siblings[at + 1] : undefined;
}

export function PlanView(props: { profile: Profile; chosen: number | null; onChoose: (id: number | null) => void }) {
  const { profile, chosen, onChoose } = props;
  const drawing = useMemo(() => drawPlan(profile), [profile]);
  const view = useView(drawing);
  const [words, setWords] = useState("");
  const [isLarge, setLarge] = useState(false);
  const found = useMemo(() => findOperators(drawing.boxes, words), [drawing, words]);
  const box = chosen === null ? undefined : drawing.byId.get(chosen);
  usePointer(view, isLarge);
  const { begin, showAll, reveal, zoom } = view;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the size of the frame changes with `isLarge`
  useEffect(() => {
    if (box && drawing.boxes.length > 30) reveal(box);
    else begin();
  }, [begin, isLarge]);
  const choose = (next: Box | undefined) => {
    if (!next) return;
    onChoose(next.operator.id);
    reveal(next);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if ((event.target as HTMLElement).tagName === "INPUT") return;
    if (event.key.startsWith("Arrow")) choose(box ? neighbour(box, event.key) : drawing.boxes[0]);
    else if (event.key === "+" || event.key === "=") zoom(1.25);
    else if (event.key === "-") zoom(0.8);
    else if (event.key === "0") showAll();
    else if (event.key === "Escape" && isLarge) setLarge(false);
    else if (event.key === "Escape") onChoose(null);
    else return;
    event.preventDefault();
  };
  if (!drawing.boxes.length) {
    return (
      <Empty icon="worksheet" title="This statement has no plan">
        <p>It changed settings or the catalog, or it failed before it was planned.</p>
      </Empty>
    );
  }
  return (
    <div class={isLarge ? "plan card large" : "plan card"}>
      <div class="plan-bar">
        <input
          class="input"
          type="search"
          placeholder="Find operators"
          aria-label="Find operators"
          value={words}
          onInput={(event) => setWords(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || !found.length) return;
            const at = found.findIndex((one) => one.operator.id === chosen);
            choose(found[(at + (event.shiftKey ? found.length - 1 : 1)) % found.length] ?? found[0]);
          }}
        />
        <span class="muted" aria-live="polite">
          {words.trim() ? `${found.length} of ${drawing.boxes.length}` : `${drawing.boxes.length} operators`}
        </span>
        <span class="legend" aria-hidden="true">
          {drawing.isMeasured ? "Time" : "Time of stages"}
          {[0, 1, 2, 3, 4, 5].map((heat) => (
            <i key={heat} class={`heat-${heat}`} />
          ))}
        </span>
        <span class="plan-buttons">
          <PlanButton icon="minus" label="Zoom out" onClick={() => zoom(0.8)} />
          <PlanButton icon="plus" label="Zoom in" onClick={() => zoom(1.25)} />
          <button type="button" class="button small" onClick={showAll}>
            Whole plan
          </button>
          <PlanButton
            icon="fit"
            label={isLarge ? "Leave full window" : "Full window"}
            onClick={() => setLarge(!isLarge)}
          />
        </span>
      </div>
      <div class="plan-body">
        <div
          ref={view.frame}
          class="plan-frame"
          role="application"
          aria-label="Plan. Arrow keys move between operators."
          // biome-ignore lint/a11y/noNoninteractiveTabindex: the drawing takes arrow keys
          tabIndex={0}
          onKeyDown={onKeyDown}
        >
          <svg class="plan-drawing" aria-hidden="true">
            <g ref={view.layer}>
              <Edges drawing={drawing} />
              <Boxes
                drawing={drawing}
                chosen={chosen}
                found={words.trim() ? found : null}
                stage={box?.operator.stage ?? null}
                onChoose={onChoose}
              />
            </g>
          </svg>
        </div>
        <OperatorPanel profile={profile} drawing={drawing} box={box} onChoose={choose} onClose={() => onChoose(null)} />
      </div>
    </div>
  );
}

function PlanButton(props: { icon: "plus" | "minus" | "fit"; label: string; onClick: () => void }) {
  return (
    <button
      type="button"
      class="button small icon"
      title={props.label}
      aria-label={props.label}
      onClick={props.onClick}
    >
      <Icon name={props.icon} size={13} />
    </button>
  );
}

const Edges = memo(function Edges({ drawing }: { drawing: PlanDrawing }) {
  return (
    <g>
      {drawing.edges.map((edge) => {
        const [x, y] = [(edge.from.x + edge.to.x + BOX_WIDTH) / 2, (edge.from.y + edge.to.y + BOX_HEIGHT) / 2];
        const isSkewed = edge.skew !== null && edge.skew >= 3;
        return (
          <g key={`${edge.from.operator.id} ${edge.to.operator.id}`} class={edge.isExchange ? "edge exchange" : "edge"}>
            <path d={edgePath(edge)} stroke-width={edge.width} />
            {edge.rows !== null && (
              <text x={x + edge.width / 2 + 6} y={y + 4}>
                {shortCount(edge.rows)}
                {isSkewed && <tspan class="skewed">{`  skew ${edge.skew?.toFixed(edge.skew < 10 ? 1 : 0)}×`}</tspan>}
              </text>
            )}
          </g>
        );
      })}
    </g>
  );
});

interface BoxesProperties {
  drawing: PlanDrawing;
  chosen: number | null;
  found: Box[] | null;
  stage: number | null;
  onChoose: (id: number | null) => void;
}

const Boxes = memo(function Boxes({ drawing, chosen, found, stage, onChoose }: BoxesProperties) {
  const shown = found && new Set(found);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the frame takes the keys
    <g
      onClick={(event: MouseEvent) => {
        const id = (event.target as Element).closest("[data-id]")?.getAttribute("data-id");
        if (id) onChoose(Number(id));
      }}
    >
      {drawing.boxes.map((box) => {
        const { operator } = box;
        const classes = ["box", `heat-${box.heat}`];
        if (operator.id === chosen) classes.push("chosen");
        else if (stage !== null && operator.stage === stage) classes.push("same-stage");
        if (shown && !shown.has(box)) classes.push("dim");
        return (
          <g
            key={operator.id}
            class={classes.join(" ")}
            data-id={operator.id}
            transform={`translate(${box.x},${box.y})`}
          >
            <rect class="ground" width={BOX_WIDTH} height={BOX_HEIGHT} rx={7} />
            <rect
              class="share"
              x={1}
              y={BOX_HEIGHT - 4}
              height={3}
              rx={1.5}
              width={Math.max(0, (BOX_WIDTH - 2) * box.share)}
            />
            <text class="kind" x={12} y={19}>
              {cut(operator.kind, 20)}
            </text>
            {operator.stage !== null && (
              <text class="stage" x={BOX_WIDTH - 12} y={19} text-anchor="end">
                {`stage ${operator.stage}`}
              </text>
            )}
            <text class="label" x={12} y={35}>
              {cut(detailOf(operator), 30)}
            </text>
            <text class="facts" x={12} y={51}>
              {[
                operator.seconds === null ? [] : seconds(operator.seconds),
                operator.rows === null ? [] : operator.rows === 1 ? "1 row" : `${shortCount(operator.rows)} rows`,
              ]
                .flat()
                .join(" · ")}
            </text>
            {operator.blocks_pruned != null && operator.blocks_read != null && (
              <text class="facts" x={BOX_WIDTH - 12} y={51} text-anchor="end">
                {`${percent(operator.blocks_pruned, operator.blocks_pruned + operator.blocks_read)} pruned`}
              </text>
            )}
          </g>
        );
      })}
    </g>
  );
});

function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
