import { DEFAULT_LOG_LIMIT, MAX_LOG_LIMIT } from '@palisade/protocol'
import type { LogQuery } from '../records/stream-log.ts'

const FLAGS = ['follow', 'denied', 'questions'] as const

/** Reads the query of `GET /v1/log`. Returns a message for an invalid one. */
export function readLogQuery(text: string): LogQuery | string {
  // A leading `?` would be skipped.
  const query = new URLSearchParams(`&${text}`)
  const names = [...query.keys()]
  if (new Set(names).size < names.length) return 'a parameter is repeated; write each once'
  const unknown = names.find((name) => ![...FLAGS, 'limit'].includes(name))
  if (unknown !== undefined) {
    const known = 'write `follow`, `denied`, `questions` or `limit`'
    return `unknown parameter \`${unknown.slice(0, 64)}\`; ${known}`
  }
  for (const name of FLAGS) {
    const value = query.get(name)
    if (value !== null && value !== '0' && value !== '1')
      return `\`${name}\` must be \`1\` or \`0\``
  }
  const written = query.get('limit') ?? String(DEFAULT_LOG_LIMIT)
  const limit = Number(written)
  if (!/^\d{1,5}$/.test(written) || limit < 1 || limit > MAX_LOG_LIMIT)
    return `\`limit\` must be a whole number from 1 to ${MAX_LOG_LIMIT}`
  return {
    limit,
    follow: query.get('follow') === '1',
    denied: query.get('denied') === '1',
    questions: query.get('questions') !== '0',
  }
}
