export function QueryPage({ id }: { id: string }) {
  return <p>{id}</p>;
}
