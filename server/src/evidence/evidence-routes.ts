import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import type { AuditedStore } from '../history/audit/audited-store.ts'
import { SERVER } from '../history/author.ts'
import { acceptOrganizationTokens } from '../identity/accept-organization-tokens.ts'
import type { Authenticate } from '../identity/authenticate.ts'
import { countAttempts } from '../identity/limits/count-attempts.ts'
import { registerRoutes } from '../identity/routes/register-routes.ts'
import type { TokenUse } from '../identity/token-use.ts'
import type { Log } from '../operations/log/create-log.ts'
import { auditRoutes, type AuditRouteDeps } from './audit/audit-routes.ts'
import { deviceRecordsRoute } from './device-records-route.ts'
import { recordRoutes, type RecordRouteDeps } from './ingest/record-routes.ts'
import { replayRoutes, type ReplayRouteDeps } from './replay/replay-routes.ts'
import { suggestionRoutes, type SuggestionRouteDeps } from './suggest/suggestion-routes.ts'
import type { EvidenceStore } from './store/evidence-store.ts'
import { unusedRulesRoute } from './unused-rules/unused-rules-route.ts'

/** A machine that two others imitate makes a mark with each batch. */
const NOTED_EVERY_MS = 60 * 60_000

export interface EvidenceRouteDeps
  extends
    Omit<AuditRouteDeps, 'store'>,
    Pick<RecordRouteDeps, 'ingest' | 'proofs' | 'views'>,
    Pick<ReplayRouteDeps, 'documents' | 'draft' | 'processes' | 'storage'>,
    Pick<SuggestionRouteDeps, 'budget'> {
  readonly authenticate: Authenticate
  readonly store: Pick<AuditedStore, 'note' | 'read'>
  readonly evidence: EvidenceStore
  readonly tokenUse: Pick<TokenUse, 'note'>
  readonly log: Log
}

/** Routes of the decision records: their upload by machines, and the log of all decisions. */
export function evidenceRoutes(deps: EvidenceRouteDeps): FastifyPluginAsyncZod {
  const onMark = noteMarks(deps)
  const onExceeded = warnOfLimits(deps)
  const authenticate = acceptOrganizationTokens(deps.authenticate, deps)
  return async (app) => {
    registerRoutes(app, deps, [
      ...recordRoutes({ ...deps, onMark, onExceeded }),
      deviceRecordsRoute(deps),
      ...replayRoutes(deps),
      ...suggestionRoutes(deps),
      unusedRulesRoute(deps),
    ])
    registerRoutes(app, { ...deps, authenticate }, auditRoutes(deps))
  }
}

/** An event for each kind of mark of a device, once an hour. */
function noteMarks({
  store,
  log,
  monotonicMs,
}: Pick<EvidenceRouteDeps, 'log' | 'monotonicMs' | 'store'>): RecordRouteDeps['onMark'] {
  const noted = countAttempts({ most: 1, windowMs: NOTED_EVERY_MS }, monotonicMs)
  return ({ org, deviceId, username }, { kind: mark, missing }) => {
    const key = `${deviceId} ${mark}`
    if (noted.waitSeconds(key) > 0) return
    noted.add(key)
    void store
      .note(SERVER, {
        place: { org },
        kind: 'device.records_marked',
        subject: { id: deviceId, name: username },
        before: null,
        after: { mark, ...(missing === 0 ? {} : { missing_lines: missing }) },
      })
      .catch((err: unknown) => log.warn({ err, device_id: deviceId, mark }, 'a mark was not noted'))
  }
}

/** A warning for each device and limit, once an hour. */
function warnOfLimits({
  log,
  monotonicMs,
}: Pick<EvidenceRouteDeps, 'log' | 'monotonicMs'>): RecordRouteDeps['onExceeded'] {
  const warned = countAttempts({ most: 1, windowMs: NOTED_EVERY_MS }, monotonicMs)
  return ({ org, deviceId }, limit) => {
    const key = `${deviceId} ${limit}`
    if (warned.waitSeconds(key) > 0) return
    warned.add(key)
    log.warn({ org, device_id: deviceId, limit }, 'decision records beyond a limit were not stored')
  }
}
