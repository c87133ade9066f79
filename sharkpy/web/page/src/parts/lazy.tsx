/** Pages whose code is loaded when they are opened. */
import type { ComponentType, FunctionComponent } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Failure } from "./parts";

/** A component that loads another, and shows it when it is there. */
export function lazy<Properties extends object>(
  load: () => Promise<ComponentType<Properties>>,
): FunctionComponent<Properties> {
  let loaded: ComponentType<Properties> | null = null;
  return function Lazy(properties: Properties) {
    const [Page, setPage] = useState<{ page: ComponentType<Properties> } | null>(loaded && { page: loaded });
    const [error, setError] = useState<Error | null>(null);
    useEffect(() => {
      if (loaded) return;
      load().then(
        (page) => {
          loaded = page;
          setPage({ page });
        },
        () => setError(new Error("This part of the console could not be loaded")),
      );
    }, []);
    if (error) return <Failure error={error} onRetry={() => location.reload()} />;
    return Page ? <Page.page {...properties} /> : null;
  };
}
