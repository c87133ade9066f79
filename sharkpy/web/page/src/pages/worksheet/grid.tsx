/** Rows of a result. Only the visible cells are in the document, so that millions of rows scroll. */
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { count } from "../../format";
import { Dialog } from "../../parts/dialog";
import { Icon } from "../../parts/icons";
import { copyText } from "../../parts/toasts";
import { type CellRange, tabbedText } from "./delimited";
import { kindOf, type Order, type ResultTable, valueText } from "./result_table";

const ROW = 28;
const HEAD = 34;
const SPARE = 6;
/** Browsers draw no element that is much higher: above it, one pixel of the scroll bar is several pixels of rows. */
const MOST_HEIGHT = 8_000_000;

export interface Window {
  first: number;
  last: number;
  /** Position of the first row in the scrolled element. */
  top: number;
}

/** The rows to draw at a position of the scroll bar. */
export function visibleRows(rows: number, scrollTop: number, height: number): Window {
  const whole = rows * ROW;
  const scrolled = Math.min(whole, MOST_HEIGHT);
  const share = scrolled > height ? Math.min(1, Math.max(0, scrollTop / (scrolled - height))) : 0;
  const offset = whole > MOST_HEIGHT ? share * (whole - height) : scrollTop;
  const first = Math.max(0, Math.floor(offset / ROW) - SPARE);
  const last = Math.min(rows - 1, Math.ceil((offset + height) / ROW) + SPARE);
  return { first, last, top: scrollTop - (offset - first * ROW) };
}

/** Position of the scroll bar that shows a row, or null if the row is visible. */
export function scrollTo(row: number, rows: number, scrollTop: number, height: number): number | null {
  const whole = rows * ROW;
  const scrolled = Math.min(whole, MOST_HEIGHT);
  const scale = whole > MOST_HEIGHT ? (whole - height) / (scrolled - height) : 1;
  const offset = scrollTop * scale;
  if (row * ROW < offset) return (row * ROW) / scale;
  if ((row + 1) * ROW > offset + height) return ((row + 1) * ROW - height) / scale;
  return null;
}

const SAMPLED = 200;

/** Widths of columns by their names and first rows. */
function widthsOf(table: ResultTable, rows: number): number[] {
  return table.columns.map((column, place) => {
    let most = column.name.length + 5;
    for (let row = 0; row < Math.min(rows, SAMPLED); row++)
      most = Math.max(most, valueText(table.value(row, place)).length);
    return Math.round(Math.min(380, Math.max(76, most * 7.6 + 26)));
  });
}

interface Cursor {
  row: number;
  column: number;
}

/**
 * `version` counts changes of the table: without it, new rows would not be drawn, since no other property changes.
 * `rows`: the rows of the table in `order`, or null if they are shown as they came.
 */
export function Grid(props: {
  table: ResultTable;
  version: number;
  rows: Uint32Array | null;
  order: Order | null;
  onOrder: (order: Order | null) => void;
}) {
  const { table, rows, order, onOrder } = props;
  const frame = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState({ width: 800, height: 400 });
  const [at, setAt] = useState({ top: 0, left: 0 });
  const [cursor, setCursor] = useState<Cursor>({ row: 0, column: 0 });
  const [anchor, setAnchor] = useState<Cursor>({ row: 0, column: 0 });
  const [opened, setOpened] = useState<Cursor | null>(null);
  const sampled = Math.min(table.length, SAMPLED);
  const widths = useMemo(() => widthsOf(table, sampled), [table, sampled]);
  const numbers = Math.max(44, String(table.length).length * 8.5 + 24);
  const lefts = useMemo(() => {
    let left = numbers;
    return widths.map((width) => {
      left += width;
      return left - width;
    });
  }, [widths, numbers]);
  useLayoutEffect(() => {
    const element = frame.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setSize({ width: element.clientWidth, height: element.clientHeight }));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const height = Math.max(ROW, size.height - HEAD);
  const shown = visibleRows(table.length, at.top, height);
  const total = numbers + widths.reduce((sum, width) => sum + width, 0);
  const columns = table.columns
    .map((_, column) => column)
    .filter((column) => {
      const left = lefts[column] ?? 0;
      return left + (widths[column] ?? 0) > at.left - 200 && left < at.left + size.width + 200;
    });
  const range: CellRange = {
    fromRow: Math.min(cursor.row, anchor.row),
    toRow: Math.max(cursor.row, anchor.row),
    fromColumn: Math.min(cursor.column, anchor.column),
    toColumn: Math.max(cursor.column, anchor.column),
  };
  const move = (row: number, column: number, extend: boolean) => {
    const next = {
      row: Math.min(table.length - 1, Math.max(0, row)),
      column: Math.min(table.columns.length - 1, Math.max(0, column)),
    };
    setCursor(next);
    if (!extend) setAnchor(next);
    const element = frame.current;
    if (!element) return;
    const top = scrollTo(next.row, table.length, element.scrollTop, height);
    if (top !== null) element.scrollTop = top;
    const [left, width] = [lefts[next.column] ?? 0, widths[next.column] ?? 0];
    if (left - numbers < element.scrollLeft) element.scrollLeft = left - numbers;
    else if (left + width > element.scrollLeft + size.width) element.scrollLeft = left + width - size.width;
  };
  const copy = (hasNames: boolean) => {
    const cells = (range.toRow - range.fromRow + 1) * (range.toColumn - range.fromColumn + 1);
    copyText(tabbedText(table, rows, range, hasNames), cells === 1 ? "Value" : `${count(cells)} values`);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const page = Math.floor(height / ROW);
    const isFar = event.ctrlKey || event.metaKey;
    const steps: Record<string, [number, number]> = {
      ArrowDown: [isFar ? table.length : 1, 0],
      ArrowUp: [isFar ? -table.length : -1, 0],
      ArrowRight: [0, isFar ? table.columns.length : 1],
      ArrowLeft: [0, isFar ? -table.columns.length : -1],
      PageDown: [page, 0],
      PageUp: [-page, 0],
      Home: [isFar ? -table.length : 0, -table.columns.length],
      End: [isFar ? table.length : 0, table.columns.length],
    };
    const step = steps[event.key];
    if (step) move(cursor.row + step[0], cursor.column + step[1], event.shiftKey);
    else if (isFar && event.key.toLowerCase() === "c") copy(event.shiftKey);
    else if (isFar && event.key.toLowerCase() === "a") {
      setAnchor({ row: 0, column: 0 });
      setCursor({ row: table.length - 1, column: table.columns.length - 1 });
    } else if (event.key === "Enter") setOpened(cursor);
    else return;
    event.preventDefault();
  };
  const sort = (column: number) => {
    if (order?.column !== column) onOrder({ column, descending: false });
    else onOrder(order.descending ? null : { column, descending: true });
  };
  const rowNumbers = Array.from(
    { length: Math.max(0, shown.last - shown.first + 1) },
    (_, index) => shown.first + index,
  );
  return (
    <>
      <div
        ref={frame}
        class="grid"
        role="grid"
        aria-label="Rows. Arrow keys move, Ctrl+C copies, Enter shows a whole value."
        aria-rowcount={table.length + 1}
        aria-colcount={table.columns.length + 1}
        aria-activedescendant={`cell-${cursor.row}-${cursor.column}`}
        tabIndex={0}
        onScroll={(event) => setAt({ top: event.currentTarget.scrollTop, left: event.currentTarget.scrollLeft })}
        onKeyDown={onKeyDown}
      >
        <div
          class="grid-head"
          role="row"
          tabIndex={-1}
          aria-rowindex={1}
          style={{ width: `${total}px`, height: `${HEAD}px` }}
        >
          <div class="grid-corner" role="columnheader" tabIndex={-1} style={{ width: `${numbers}px` }}>
            <span class="visually-hidden">Row</span>
          </div>
          {columns.map((column) => {
            const facts = table.columns[column];
            if (!facts) return null;
            const isSorted = order?.column === column;
            return (
              <div
                key={column}
                class={kindOf(facts) === "number" ? "grid-name number" : "grid-name"}
                role="columnheader"
                tabIndex={-1}
                aria-colindex={column + 2}
                aria-sort={isSorted ? (order.descending ? "descending" : "ascending") : undefined}
                style={{ left: `${lefts[column]}px`, width: `${widths[column]}px` }}
              >
                <button type="button" title={`${facts.name}: ${facts.type}`} onClick={() => sort(column)}>
                  <span>{facts.name}</span>
                  {isSorted ? (
                    <Icon name={order.descending ? "down" : "up"} size={11} />
                  ) : (
                    <small>{shortType(facts.type)}</small>
                  )}
                </button>
              </div>
            );
          })}
        </div>
        {/* biome-ignore lint/a11y/useKeyWithClickEvents: the grid takes the keys */}
        <div
          class="grid-body"
          role="rowgroup"
          style={{ width: `${total}px`, height: `${Math.min(table.length * ROW, MOST_HEIGHT)}px` }}
          onClick={(event) => {
            const place = placeOf(event.target);
            if (place) move(place.row, place.column, event.shiftKey);
          }}
          onDblClick={(event) => setOpened(placeOf(event.target))}
          onPointerMove={(event) => {
            const place = event.buttons === 1 ? placeOf(event.target) : null;
            if (place) setCursor(place);
          }}
          onPointerDown={(event) => {
            const place = event.shiftKey ? null : placeOf(event.target);
            if (!place) return;
            setCursor(place);
            setAnchor(place);
          }}
        >
          {rowNumbers.map((row, index) => (
            <div
              key={row}
              class="grid-row"
              role="row"
              tabIndex={-1}
              aria-rowindex={row + 2}
              style={{ transform: `translateY(${shown.top + index * ROW}px)`, width: `${total}px` }}
            >
              <div
                class="grid-number"
                role="rowheader"
                tabIndex={-1}
                aria-colindex={1}
                style={{ width: `${numbers}px` }}
              >
                {count(row + 1)}
              </div>
              {columns.map((column) => (
                <GridCell
                  key={column}
                  id={`cell-${row}-${column}`}
                  place={`${row} ${column}`}
                  value={table.value(rows?.[row] ?? row, column)}
                  isNumber={kindOf(table.columns[column] ?? { name: "", type: "" }) === "number"}
                  isChosen={
                    row >= range.fromRow && row <= range.toRow && column >= range.fromColumn && column <= range.toColumn
                  }
                  left={lefts[column] ?? 0}
                  width={widths[column] ?? 0}
                  column={column}
                />
              ))}
            </div>
          ))}
        </div>
      </div>
      {opened && (
        <WholeValue
          title={table.columns[opened.column]?.name ?? ""}
          value={table.value(rows?.[opened.row] ?? opened.row, opened.column)}
          onClose={() => {
            setOpened(null);
            frame.current?.focus();
          }}
        />
      )}
    </>
  );
}

const SHORT_TYPE = 12;

function shortType(type: string): string {
  const lower = type.toLowerCase();
  return lower.length > SHORT_TYPE ? `${lower.slice(0, SHORT_TYPE - 1)}…` : lower;
}

function placeOf(target: EventTarget | null): Cursor | null {
  const place = (target as Element | null)?.closest("[data-place]")?.getAttribute("data-place");
  if (!place) return null;
  const [row, column] = place.split(" ").map(Number);
  return row === undefined || column === undefined ? null : { row, column };
}

const SHOWN_CHARACTERS = 300;

function GridCell(props: {
  id: string;
  place: string;
  value: unknown;
  isNumber: boolean;
  isChosen: boolean;
  left: number;
  width: number;
  column: number;
}) {
  const { value } = props;
  const classes = ["grid-cell"];
  if (props.isNumber) classes.push("number");
  if (props.isChosen) classes.push("chosen");
  return (
    <div
      id={props.id}
      class={classes.join(" ")}
      role="gridcell"
      tabIndex={-1}
      aria-colindex={props.column + 2}
      aria-selected={props.isChosen}
      data-place={props.place}
      style={{ left: `${props.left}px`, width: `${props.width}px` }}
    >
      {value === null || value === undefined ? <i>NULL</i> : valueText(value).slice(0, SHOWN_CHARACTERS)}
    </div>
  );
}

function WholeValue({ title, value, onClose }: { title: string; value: unknown; onClose: () => void }) {
  const text = useMemo(() => {
    if (value === null || value === undefined) return "NULL";
    return typeof value === "object" ? JSON.stringify(value, null, 2) : String(value);
  }, [value]);
  return (
    <Dialog label={title} class="whole-value" onClose={onClose}>
      <div class="content">
        <h2>{title}</h2>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long value scrolls by the keyboard */}
        <pre tabIndex={0}>{text}</pre>
        <div class="actions">
          <button type="button" class="button" onClick={() => copyText(text, "Value")}>
            <Icon name="copy" size={14} /> Copy
          </button>
          <button type="button" class="button primary" onClick={onClose}>
            Close
          </button>
        </div>
      </div>
    </Dialog>
  );
}
