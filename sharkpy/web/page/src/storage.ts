/** Values in the browser's storage, which may be full, switched off or changed by hand. */

export function load<Value>(name: string, otherwise: Value): Value {
  try {
    const text = localStorage.getItem(`sharkpy.${name}`);
    return text === null ? otherwise : (JSON.parse(text) as Value);
  } catch {
    return otherwise;
  }
}

/** Store a value. Return false if the browser refuses it. */
export function store(name: string, value: unknown): boolean {
  try {
    localStorage.setItem(`sharkpy.${name}`, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}
