/** JSON Schema of an object that has one of the members and no other of them. */
export function exactlyOneOf(...names: readonly string[]) {
  return { oneOf: names.map((name) => ({ required: [name] })) }
}
