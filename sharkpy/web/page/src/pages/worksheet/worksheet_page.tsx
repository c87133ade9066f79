export function WorksheetPage() {
  return <p>later</p>;
}
