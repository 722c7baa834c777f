// Draws the state of epochal.tools.display.widget.Table. Values are set as text content: markup in them stays text.
// A plot waits for Plotly, which another widget puts into the page.

const PULL_MILLISECONDS = 2000;
const PLOTLY_MILLISECONDS = 100;
const GRID = "#8883";

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function rowOf(columns, values, tag) {
  const row = element("tr");
  columns.forEach((column, place) => {
    const value = values[place];
    const cell = element(tag, column.is_number ? "right" : "", value === null ? "null" : value);
    if (value === null) cell.classList.add("null");
    cell.title = tag === "th" ? column.kind : cell.textContent;
    row.append(cell);
  });
  return row;
}

// Colab delivers a thread's updates only with the answer to a message of the browser. One is under way at a time.
function initialize({ model }) {
  if (!model.get("pulls")) return undefined;
  let isWaiting = false;
  model.on("change:shown", () => (isWaiting = false));
  const timer = setInterval(() => {
    const isOver = !["starting", "running"].includes(model.get("shown").state);
    if (isOver) clearInterval(timer);
    else if (!isWaiting) model.send({ type: "pull" });
    isWaiting = !isWaiting;
  }, PULL_MILLISECONDS);
  return () => clearInterval(timer);
}

// Plotly, or undefined if the view was removed before. A page that was loaded again requests it.
async function plotly(model, isOver) {
  for (let steps = 1; !globalThis.epochalPlotly && !isOver(); steps++) {
    if (steps % 100 === 30) model.send({ type: "plotly" });
    await new Promise((resolve) => setTimeout(resolve, PLOTLY_MILLISECONDS));
  }
  return globalThis.epochalPlotly;
}

// Shows the model's figure in the place of a table; gives what ends that. Colours are those of the page.
function plotInto(place, model) {
  const plot = element("div", "plot");
  place.replaceWith(plot);
  let Plotly;
  let isOver = false;
  const axis = (one) => ({ gridcolor: GRID, zerolinecolor: GRID, automargin: true, ...one });
  function draw() {
    const { data, layout } = structuredClone(model.get("figure"));
    const color = getComputedStyle(plot).color;
    const all = {
      ...layout,
      autosize: true,
      minreducedheight: 200, // long labels do not take all of it
      uirevision: "kept", // zoom and hidden series outlive an update
      margin: { l: 50, r: 10, t: 30, b: 40 }, // on top are Plotly's buttons
      modebar: { bgcolor: "transparent", color: "#888", activecolor: color },
      font: { color },
      paper_bgcolor: "transparent",
      plot_bgcolor: "transparent",
      xaxis: axis(layout.xaxis),
      yaxis: axis(layout.yaxis),
    };
    if (Plotly && plot.clientWidth) Plotly.react(plot, data, all, { displaylogo: false, displayModeBar: "hover" });
  }
  const observer = new ResizeObserver(() => (plot.data ? Plotly.Plots.resize(plot) : draw())); // at first it has no size
  observer.observe(plot);
  model.on("change:figure", draw);
  plotly(model, () => isOver).then((module) => {
    Plotly = module;
    if (!isOver) draw();
  });
  return () => {
    isOver = true;
    model.off("change:figure", draw);
    observer.disconnect();
    Plotly?.purge(plot);
  };
}

function render({ model, el }) {
  const bar = element("div", "bar");
  const dot = element("span", "dot");
  const head = element("span", "head");
  const stop = element("button", "stop", "Stop");
  const scroll = element("div", "scroll");
  const table = element("table");
  const thead = element("thead");
  const tbody = element("tbody");
  const notice = element("div", "notice");
  el.classList.add("epochal-display");
  bar.append(dot, head, stop);
  table.append(thead, tbody);
  scroll.append(table);
  el.append(bar, scroll, notice);
  const stopPlot = model.get("figure").data ? plotInto(scroll, model) : () => undefined;
  stop.addEventListener("click", () => {
    stop.disabled = true;
    stop.textContent = "Stopping…";
    stop.title = "A kernel that runs a cell hears of this when the cell has ended, or is interrupted.";
    model.send({ type: "stop" });
  });

  function draw() {
    const shown = model.get("shown");
    const isAtEnd = scroll.scrollTop + scroll.clientHeight >= scroll.scrollHeight - 4;
    dot.dataset.state = shown.state;
    head.textContent = shown.head;
    notice.textContent = shown.notice;
    stop.hidden = !["starting", "running"].includes(shown.state);
    const names = shown.columns.map((column) => column.name);
    thead.replaceChildren(rowOf(shown.columns, names, "th"));
    tbody.replaceChildren(...shown.rows.map((row) => rowOf(shown.columns, row, "td")));
    if (shown.follows && isAtEnd) scroll.scrollTop = scroll.scrollHeight;
  }

  model.on("change:shown", draw);
  draw();
  return () => {
    model.off("change:shown", draw);
    stopPlot();
  };
}

export default { initialize, render };
