/** A number with its noun: `1 rule`, `3 rules`, `2 policies`. */
export function count(n: number, one: string, many = `${one}s`): string {
  return `${n} ${n === 1 ? one : many}`
}
