// Draws the state of epochal._display.widget.Table. Values are set as text content: markup in them stays text.

const PULL_MILLISECONDS = 2000;

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
  scroll.hidden = model.get("rows_hidden");
  stop.addEventListener("click", () => {
    stop.disabled = true;
    stop.textContent = "Stopping…";
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
  return () => model.off("change:shown", draw);
}

export default { initialize, render };
