import {
  auditDownloadQuerySchema,
  auditEventSchema,
  auditPageSchema,
  auditQuerySchema,
  type AuditPage,
  type AuditQuery,
} from '@palisade/protocol'
import { Readable } from 'node:stream'
import { z } from 'zod'
import type { AuditedStore } from '../../history/audit/audited-store.ts'
import { authorize, type Access } from '../../identity/authorize.ts'
import { formatPrincipal, type Caller, type Principal } from '../../identity/principal.ts'
import { defineRoute, type Route } from '../../identity/routes/route.ts'
import { createAnswerTurns } from '../../work/answer-turns.ts'
import { permissionDenied } from '../../platform/api-error.ts'
import { createNoteReading } from '../note-reading.ts'
import { DOWNLOAD_TYPES, downloadAuditLog, pageQuery } from './download-audit-log.ts'
import { createDownloads } from './downloads.ts'
import { listAuditEvents, type AuditListDeps } from './list-audit-events.ts'

export interface AuditRouteDeps extends Omit<AuditListDeps, 'store'> {
  readonly store: Pick<AuditedStore, 'note' | 'read'>
  readonly monotonicMs: () => number
}

/** `GET /v2/auditlogs/governance/:org` and `GET /api/v1/orgs/:org/audit-log` */
export function auditRoutes(deps: AuditRouteDeps): readonly Route[] {
  const { store, evidence, pageTokenKey, monotonicMs } = deps
  const turns = createAnswerTurns()
  const downloads = createDownloads()
  const note = createNoteReading({ store, monotonicMs }, null)

  const rightOf = async (caller: Caller, org: string): Promise<Right> =>
    requireRight(caller, await store.read((reader) => authorize(reader, caller, org, null)))
  /** Throws 403; the query is that of the caller's own devices where only those may be seen. */
  const admit = async (caller: Caller, org: string, query: AuditQuery): Promise<AuditQuery> => {
    const { own } = await rightOf(caller, org)
    const allowed = own ? ownQuery(caller, query) : query
    if (!own) await note(caller, org)
    return allowed
  }
  const list = async (
    { caller, org, now }: { caller: Caller; org: string; now: () => Date },
    query: AuditQuery,
  ): Promise<AuditPage> => {
    const allowed = await admit(caller, org, query)
    const read = (): Promise<AuditPage> =>
      listAuditEvents({ store, evidence, pageTokenKey, now }, org, allowed)
    return turns.run(org, read, formatPrincipal(caller))
  }

  return [
    defineRoute(
      {
        method: 'GET',
        path: '/v2/auditlogs/governance/:org',
        operationId: 'listAuditLogs',
        tags: ['audit'],
        summary: 'Decisions on the machines of the organization, newest first',
        permission: null,
        lookUp: (_reader, _params, { principal, access }) => void requireRight(principal, access),
        query: auditQuerySchema,
        answers: { 200: auditPageSchema },
        errors: [403, 429],
      },
      async ({ caller, params: { org }, query }) => {
        return list({ caller, org, now: deps.now }, query)
      },
    ),
    defineRoute(
      {
        method: 'GET',
        path: '/api/v1/orgs/:org/audit-log',
        operationId: 'downloadAuditLog',
        tags: ['audit'],
        summary: 'All decisions that the filters match, newest first, as a stream',
        permission: null,
        lookUp: (_reader, _params, { principal, access }) => void requireRight(principal, access),
        query: auditDownloadQuerySchema,
        answers: { 200: DOWNLOAD },
        errors: [403, 429],
      },
      async ({ caller, params: { org }, query, request, reply }) => {
        const { format = 'jsonl', ...filter } = query
        // The default period stays where it is through all pages.
        const startedAt = deps.now()
        const listPage = (page: AuditQuery): Promise<AuditPage> =>
          list({ caller, org, now: () => startedAt }, page)
        const { own } = await rightOf(caller, org)
        downloads.enter({ org, caller: formatPrincipal(caller), own }, reply.raw)
        // Its refusals, such as that of a period, are answers with a status of their own.
        const first = await listPage(pageQuery(filter))
        reply
          .type(DOWNLOAD_TYPES[format])
          .header('content-disposition', `attachment; filename="audit.${format}"`)
        // The framework reads a stream to its end for HEAD, and nobody waits for that.
        const isHead = request.method === 'HEAD'
        return reply.send(isHead ? Readable.from([]) : downloadAuditLog(query, first, listPage))
      },
    ),
  ]
}

/** The body of the stream, for the OpenAPI document. */
const DOWNLOAD = {
  description: 'Comma-separated values (RFC 4180), or lines of JSON',
  content: {
    'application/x-ndjson': { schema: auditEventSchema },
    'text/csv': { schema: z.string() },
  },
}

interface Right {
  /** Whether the caller sees the decisions on their own machines alone. */
  readonly own: boolean
}

/** Without the permission, people see the decisions on their own machines. Throws 403. */
function requireRight(
  { kind }: Pick<Principal, 'kind'>,
  { permissions }: Pick<Access, 'permissions'>,
): Right {
  if (permissions.includes('audit:read')) return { own: false }
  if (kind === 'user') return { own: true }
  throw permissionDenied('this needs the permission `audit:read`')
}

function ownQuery(caller: Caller, query: AuditQuery): AuditQuery {
  if (caller.kind !== 'user') throw new TypeError('a token has no machines')
  const { username = caller.username } = query
  if (username !== caller.username)
    throw permissionDenied(
      'this needs the permission `audit:read`; without it, `username` is your own',
    )
  return { ...query, username }
}
