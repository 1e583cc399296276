/** JSON Schema of an object with exactly one of the members. */
export function exactlyOneOf(...names: readonly string[]) {
  return { oneOf: names.map((name) => ({ required: [name] })) }
}
