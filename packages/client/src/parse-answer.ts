import { errorEnvelopeSchema, parseJson } from '@palisade/protocol'
import { apiError, unexpected, type ClientError } from './client-error.ts'

interface Issue {
  readonly code?: string | undefined
  readonly path: readonly PropertyKey[]
  readonly keys?: readonly string[]
}

/** The part of a protocol schema that parsing an answer needs. */
export interface AnswerSchema<T> {
  safeParse(
    value: unknown,
  ):
    | { readonly success: true; readonly data: T }
    | { readonly success: false; readonly error: { readonly issues: readonly Issue[] } }
}

/**
 * The value of a JSON answer, checked against `schema`. Unknown members are dropped, because a
 * newer server may add some. Throws `ERR_UNEXPECTED_ANSWER`.
 */
export function parseAnswer<T>(schema: AnswerSchema<T>, text: string): T {
  const json = parseJson(text)
  if (!json.ok) throw unexpected(json.problem.message)
  const first = schema.safeParse(json.value)
  if (first.success) return first.data
  const second = schema.safeParse(withoutUnknownMembers(json.value, first.error.issues))
  if (second.success) return second.data
  const issue = second.error.issues[0]
  throw unexpected(`member \`${formatPath(issue?.path ?? [])}\` is not what the protocol says`)
}

/** The error for a non-2xx answer: its envelope, or `ERR_UNEXPECTED_ANSWER`. */
export function parseFailure(
  status: number,
  text: string,
  retryAfterMs: number | null = null,
): ClientError {
  const json = parseJson(text)
  const envelope = json.ok ? errorEnvelopeSchema.safeParse(json.value) : undefined
  if (envelope?.success !== true)
    return unexpected(`status ${status} without an error envelope; is this a palisade server?`)
  return apiError({ status, ...envelope.data.error, retryAfterMs })
}

function withoutUnknownMembers(value: unknown, issues: readonly Issue[]): unknown {
  const copy = structuredClone(value)
  for (const issue of issues) {
    if (issue.code !== 'unrecognized_keys') continue
    const owner = issue.path.reduce<unknown>(member, copy)
    for (const key of issue.keys ?? [])
      if (typeof owner === 'object' && owner !== null) Reflect.deleteProperty(owner, key)
  }
  return copy
}

function member(value: unknown, key: PropertyKey): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined
}

function formatPath(path: readonly PropertyKey[]): string {
  const text = path
    .map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`))
    .join('')
  return text.replace(/^\./, '') || '(the whole answer)'
}
