import { ASSIGNMENT_VERSION_HEADER } from '@palisade/protocol'
import type { Shortcut } from '../http/shortcut.ts'
import { overloaded, type Overload } from '../operations/overload/overload.ts'
import type { RequestMetrics } from '../operations/metrics/request-metrics.ts'
import { TIMESTAMP_ROUTE, VOLATILE } from './view-routes.ts'
import type { ViewService } from './view-service.ts'

/**
 * The path of `TIMESTAMP_ROUTE`. Names that need percent-decoding match no organization or view.
 */
const TIMESTAMP_URL = /^\/api\/v1\/orgs\/([^/?#%]+)\/views\/([^/?#%]+)\/metadata\/timestamp\.json$/
/** Values that need no validation by the route. */
const VERSION = /^\d{1,15}$/

/**
 * Answers the polls of devices that are known for timestamps that are known, and while there are
 * too many polls, asks some of them to come back.
 */
export function createPollShortcut(deps: {
  readonly views: Pick<ViewService, 'known'>
  readonly metrics: RequestMetrics
  readonly overload: Pick<Overload, 'askToWait'>
}): Shortcut {
  const tally = deps.metrics.tallyOf({ method: 'GET', pattern: TIMESTAMP_ROUTE })
  return ({ url = '', headers }) => {
    const [, org, view] = TIMESTAMP_URL.exec(url) ?? []
    if (org === undefined || view === undefined) return null
    const seconds = deps.overload.askToWait('begins')
    if (seconds !== null) return { kind: 'refusal', tally, error: overloaded(seconds) }
    const heldVersion = readHeldVersion(headers[ASSIGNMENT_VERSION_HEADER])
    if (heldVersion === 'malformed') return null
    const known = deps.views.known(headers.authorization, { org, view }, heldVersion)
    if (known === null) return null
    const { etag } = known
    const sent = headers['if-none-match']
    if (sent !== undefined && sent !== etag) return null
    return {
      kind: 'answer',
      tally,
      etag,
      cacheControl: VOLATILE,
      body: sent === etag && !known.isBehind ? null : known.body,
    }
  }
}

function readHeldVersion(header: string | string[] | undefined): number | null | 'malformed' {
  if (header === undefined) return null
  return typeof header === 'string' && VERSION.test(header) ? Number(header) : 'malformed'
}
