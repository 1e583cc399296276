/** A quoted text, a quoted name, a comment, or a parameter. */
const TOKEN = /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\?/g

/** Writes the parameters of shared SQL the way PostgreSQL does: `?` becomes `$1`, `$2`, … */
export function numberParameters(sql: string): string {
  let count = 0
  return sql.replace(TOKEN, (token) => (token === '?' ? `$${++count}` : token))
}
