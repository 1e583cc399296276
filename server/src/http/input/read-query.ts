import type { z } from 'zod'
import { invalidArgument } from '../../platform/api-error.ts'
import { describeIssue, quote, shorten } from './describe-issue.ts'

/** A query string as sent: all values of each name, in order. */
export type RawQuery = ReadonlyMap<string, readonly string[]>

const EMPTY: RawQuery = new Map()

/** Splits a query string, given without `?`, without validation. Never throws. */
export function parseQuery(text: string): RawQuery {
  // Fast path for the common case.
  if (text === '') return EMPTY
  const query = new Map<string, string[]>()
  for (const [name, value] of new URLSearchParams(text)) {
    const values = query.get(name)
    if (values === undefined) query.set(name, [value])
    else values.push(value)
  }
  return query
}

/** Parses a query with a schema. Throws 400 for an unknown, empty or repeated parameter. */
export function readQuery<S extends z.ZodType>(schema: S, query: RawQuery): z.output<S> {
  const members: [string, string][] = []
  for (const [name, values] of query) {
    if (values.length > 1)
      throw invalidArgument(`query parameter ${quote(name)} is repeated`, { field: shorten(name) })
    const value = values[0] ?? ''
    if (value === '')
      throw invalidArgument(`query parameter ${quote(name)} must not be empty`, {
        field: shorten(name),
      })
    members.push([name, value])
  }
  const result = schema.safeParse(Object.fromEntries(members), { reportInput: true })
  if (result.success) return result.data
  const [issue] = result.error.issues
  if (issue === undefined) throw invalidArgument('the query is invalid')
  const { message, field } = describeIssue(issue)
  throw invalidArgument(`query: ${message}`, { field })
}
