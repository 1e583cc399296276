import {
  envelope,
  startLoopbackServer,
  tokenReply,
  type LoopbackServer,
  type Reply,
  type SeenRequest,
} from '../client/loopback-server.ts'

export const WEB_ID = `pol_${'0'.repeat(27)}1`
export const FILES_ID = `pol_${'0'.repeat(27)}2`
export const RULE_ID = `rule_${'0'.repeat(27)}1`
const POLICIES = '/v2/orgs/acme/governance/policies'
/** Also has the modes of policies and the expiry of rules. */
const DETAILED = '/api/v1/orgs/acme/policies'

const DATES = { created_at: '2026-01-01T00:00:00Z', updated_at: '2026-01-02T00:00:00Z' }
export const RULE = {
  id: RULE_ID,
  name: 'api',
  actions: ['connect:tcp'],
  decision: 'allow',
  resources: ['example.com:443', '*.example.com'],
}
export const WEB = {
  id: WEB_ID,
  name: 'web',
  org: 'acme',
  scope: {},
  allowlist_v0: { domain: 'network', rules: [RULE] },
  ...DATES,
}
export const TEAM = { id: '6c0b7c0a-5f0e-4d7e-9a53-0b6d1f1f8a11', name: 'research' }
export const FILES = {
  id: FILES_ID,
  // Named like the other policy's id, to be confused with it.
  name: WEB_ID,
  org: 'acme',
  scope: { teams: [TEAM.id] },
  ...DATES,
}
export const ENROLMENT = {
  server: 'http://127.0.0.1:8420',
  org: 'acme',
  user: 'alice',
  device_id: 'dev_1',
  root: '{}',
}

/** The part of a server that the command uses, for one organization with two policies. */
export function startGovernanceServer(
  override: (request: SeenRequest) => Reply | null = () => null,
): Promise<LoopbackServer> {
  let tokens = 0
  return startLoopbackServer((request) => {
    if (request.url === '/v2/auth/token') {
      const { password } = JSON.parse(request.body) as { password: string }
      return password === 'pal_pat_good'
        ? tokenReply((tokens += 1))
        : envelope(401, 'unauthenticated', 'wrong user name or secret')
    }
    return override(request) ?? route(request)
  })
}

function route({ method, url, body }: SeenRequest): Reply {
  const sent = (): object => JSON.parse(body) as object
  switch (`${method} ${url.replace(DETAILED, POLICIES)}`) {
    case 'GET /api/v1/user/organizations':
      return {
        body: {
          data: [{ name: 'acme', role: 'owner', permissions: [], entitled: true }],
          next_page_token: null,
        },
      }
    case 'GET /api/v1/orgs/acme/teams':
      return { body: { data: [{ ...TEAM, created_at: DATES.created_at }], next_page_token: null } }
    case `GET ${POLICIES}`: {
      const { allowlist_v0: _rules, ...web } = WEB
      const data = [web, FILES].map((policy) => ({ ...policy, type: 'allowlist_v0' }))
      return { body: { data, next_page_token: null } }
    }
    case `POST ${POLICIES}`:
      return { status: 201, body: { ...FILES, scope: {}, ...sent() } }
    case `GET ${POLICIES}/${WEB_ID}`:
      return { body: WEB }
    case `DELETE ${POLICIES}/${WEB_ID}`:
      return { body: { deleted: WEB } }
    case `POST ${POLICIES}/${WEB_ID}/rules`:
      return { status: 201, body: { id: RULE_ID, ...sent() } }
    case `PATCH ${POLICIES}/${WEB_ID}/rules/${RULE_ID}`:
      return { body: { old: RULE, new: { ...RULE, ...sent() } } }
    case `DELETE ${POLICIES}/${WEB_ID}/rules/${RULE_ID}`:
      return { body: { deleted: RULE } }
    case 'POST /api/v1/orgs/acme/devices':
      return { status: 201, body: { ...ENROLMENT, user: null, ...sent() } }
    default:
      return envelope(404, 'not_found', 'no such thing')
  }
}

/** The account that the server knows, as environment variables. */
export function signedIn(server: LoopbackServer): Record<string, string> {
  return {
    PALISADE_SERVER: server.url,
    PALISADE_ORG: 'acme',
    PALISADE_USERNAME: 'alice',
    PALISADE_TOKEN: 'pal_pat_good',
  }
}
