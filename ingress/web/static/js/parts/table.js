// The head of a table: "Tokens#" is a column of numbers.
import { html } from "../preact.js";

export const Head = ({ columns }) => html`
  <thead><tr>${columns.map((column) => html`
    <th key=${column} scope="col" class=${column.endsWith("#") ? "num" : undefined}>${column.replace("#", "")}</th>
  `)}</tr></thead>
`;
