import { auditPageSchema, auditQuerySchema, type AuditQuery } from '@palisade/protocol'
import type { AuditedStore } from '../../history/audit/audited-store.ts'
import { authorize, type Access } from '../../identity/authorize.ts'
import { countAttempts } from '../../identity/limits/count-attempts.ts'
import { formatPrincipal, type Caller, type Principal } from '../../identity/principal.ts'
import { defineRoute, type Route } from '../../identity/routes/route.ts'
import { createAnswerTurns } from '../../operations/overload/answer-turns.ts'
import { permissionDenied } from '../../platform/api-error.ts'
import { listAuditEvents, type AuditListDeps } from './list-audit-events.ts'

/** A caller that follows the log reads it every few seconds. */
const NOTED_EVERY_MS = 60 * 60_000

export interface AuditRouteDeps extends Omit<AuditListDeps, 'store'> {
  readonly store: Pick<AuditedStore, 'note' | 'read'>
  readonly monotonicMs: () => number
}

/** `GET /v2/auditlogs/governance/:org` */
export function auditRoutes(deps: AuditRouteDeps): readonly Route[] {
  const turns = createAnswerTurns()
  const noted = countAttempts({ most: 1, windowMs: NOTED_EVERY_MS }, deps.monotonicMs)

  /** Reading the decisions of others is itself in the history, once an hour for each caller. */
  const note = async (caller: Caller, org: string): Promise<void> => {
    const key = `${org} ${formatPrincipal(caller)}`
    if (noted.waitSeconds(key) > 0) return
    await deps.store.note(caller.author, {
      place: { org },
      kind: 'audit_log.read',
      subject: { id: org, name: org },
      before: null,
      after: { reader: formatPrincipal(caller) },
    })
    noted.add(key)
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
        errors: [429],
      },
      async ({ caller, params: { org }, query }) => {
        const access = await deps.store.read((reader) => authorize(reader, caller, org, null))
        const { own } = requireRight(caller, access)
        if (!own) await note(caller, org)
        const allowed = own ? ownQuery(caller, query) : query
        return turns.run(org, () => listAuditEvents(deps, org, allowed), formatPrincipal(caller))
      },
    ),
  ]
}

/** Without the permission, people see the decisions on their own machines. Throws 403. */
function requireRight(
  { kind }: Pick<Principal, 'kind'>,
  { permissions }: Pick<Access, 'permissions'>,
): { readonly own: boolean } {
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
