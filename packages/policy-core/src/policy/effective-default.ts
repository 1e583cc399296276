/**
 * The `default` of one user, from the values that the organization and the user's teams have
 * chosen. `enforce` wins over `observe`. A value that is null or absent has no say, any other value
 * enforces, and so does the lack of a choice.
 */
export function effectiveDefault(
  chosen: Iterable<string | null | undefined>,
): 'enforce' | 'observe' {
  const values = [...chosen].filter((value) => value !== null && value !== undefined)
  return values.length > 0 && values.every((value) => value === 'observe') ? 'observe' : 'enforce'
}
