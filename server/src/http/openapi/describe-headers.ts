/** The parts of an OpenAPI document that headers belong to. */
interface Operation {
  operationId?: string
  parameters?: { in: string; name: string }[]
  responses?: Record<string, { headers?: Record<string, Header> }>
}
interface Header {
  readonly description: string
  readonly required: boolean
  readonly schema: { readonly type: 'string'; readonly pattern?: string }
}

const REQUEST_ID: Header = {
  description: 'Also in the log and the history; taken from a well-formed `X-Request-Id`',
  required: true,
  schema: { type: 'string', pattern: '^[A-Za-z0-9._-]{1,64}$' },
}
const ETAG: Header = {
  description: 'Strong entity tag, for `If-Match` and `If-None-Match`',
  required: true,
  schema: { type: 'string', pattern: '^"[!#-~]+"$' },
}
const REPLAYED: Header = {
  description: 'Present when this repeats the first answer to the same `Idempotency-Key`',
  required: false,
  schema: { type: 'string', pattern: '^true$' },
}
const AUTHENTICATE: Header = {
  description: 'RFC 6750, or RFC 9449 for machines',
  required: true,
  schema: { type: 'string', pattern: '^(?:Bearer|DPoP algs="EdDSA")$' },
}
const RETRY_AFTER: Header = {
  description: 'Seconds to wait before the next attempt',
  required: true,
  schema: { type: 'string', pattern: '^[1-9][0-9]*$' },
}
const IF_NONE_MATCH = {
  in: 'header',
  name: 'if-none-match',
  required: false,
  description: 'Entity tags that the caller has; 304 when one of them is the current one',
  schema: { type: 'string' },
}
/** Operations that take a precondition but leave no resource with an entity tag. */
const WITHOUT_ETAG = new Set(['deletePolicy'])

/**
 * Adds the headers of every answer. They follow from its status and from the parameters of the
 * request, so routes do not declare them.
 */
export function describeHeaders<D extends object>(document: D): D {
  const copy = structuredClone(document) as D & {
    paths?: Record<string, Record<string, Operation>>
  }
  for (const item of Object.values(copy.paths ?? {}))
    for (const operation of Object.values(item)) describeOperation(operation)
  return copy
}

function describeOperation(operation: Operation): void {
  const { operationId = '', parameters = [], responses = {} } = operation
  const takes = (...names: string[]): boolean => parameters.some(({ name }) => names.includes(name))
  if ('304' in responses && !takes('if-none-match'))
    operation.parameters = [...parameters, IF_NONE_MATCH]
  const hasEtag =
    ('304' in responses || takes('if-match', 'if-none-match')) && !WITHOUT_ETAG.has(operationId)
  const ofSuccess = {
    ...(hasEtag ? { ETag: ETAG } : {}),
    ...(takes('idempotency-key') ? { 'Idempotency-Replayed': REPLAYED } : {}),
  }
  for (const [status, response] of Object.entries(responses)) {
    const ofStatus = /^2|^304/.test(status) ? ofSuccess : headersOfRefusal(status)
    response.headers = { 'X-Request-Id': REQUEST_ID, ...ofStatus }
  }
}

function headersOfRefusal(status: string): Record<string, Header> {
  switch (status) {
    case '401':
      return { 'WWW-Authenticate': AUTHENTICATE }
    case '429':
      return { 'Retry-After': RETRY_AFTER }
    case '503':
      return { 'Retry-After': { ...RETRY_AFTER, required: false } }
    default:
      return {}
  }
}
