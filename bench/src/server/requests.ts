import { COUNTER } from './load/load-request.ts'
import type { Polled } from './fill/clone-organization.ts'
import type { Filled } from './fill/fill-organization.ts'

/** An organization with an access token of each editor. */
export interface SignedIn extends Filled {
  readonly accessTokens: readonly string[]
}

export async function signIn(port: number, filled: readonly Filled[]): Promise<SignedIn[]> {
  const organizations: SignedIn[] = []
  for (const each of filled) {
    const accessTokens: string[] = []
    for (const { username, token } of each.editors)
      accessTokens.push(await exchange(port, username, token))
    organizations.push({ ...each, accessTokens })
  }
  return organizations
}

/** Exchanges a personal access token for a short-lived one. */
export async function exchange(port: number, username: string, password: string): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}/v2/auth/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username, password }),
  })
  if (!response.ok) throw new Error(`no access token: ${response.status} ${await response.text()}`)
  return ((await response.json()) as { access_token: string }).access_token
}

export function bareRequests(): string[] {
  return [formatRequest('GET', '/', null)]
}

/** One request per device, alternating between organizations. */
export function pollRequests(filled: readonly Polled[]): string[] {
  return interleave(
    filled.map(({ org, view, deviceTokens }) => {
      const path = `/api/v1/orgs/${org}/views/${view}/metadata/timestamp.json`
      return deviceTokens.map((token) => formatRequest('GET', path, `DPoP ${token}`))
    }),
  )
}

/** One request per policy and editor, alternating between organizations. */
export function policyRequests(organizations: readonly SignedIn[]): string[] {
  return interleave(
    organizations.map(({ org, policyIds, accessTokens }) =>
      policyIds.flatMap((id) =>
        accessTokens.map((token) =>
          formatRequest('GET', `/v2/orgs/${org}/governance/policies/${id}`, `Bearer ${token}`),
        ),
      ),
    ),
  )
}

/**
 * One new rule per policy, alternating between organizations. The counter makes its name unique.
 */
export function createRuleRequests(organizations: readonly SignedIn[]): string[] {
  const body = JSON.stringify({
    name: `added ${COUNTER}`,
    actions: ['connect:tcp'],
    decision: 'allow',
    resources: [`added-${COUNTER.length}.example.com:443`],
  })
  return interleave(
    organizations.map(({ org, policyIds, accessTokens }) =>
      policyIds.map((id, index) =>
        formatRequest(
          'POST',
          `/v2/orgs/${org}/governance/policies/${id}/rules`,
          `Bearer ${accessTokens[index % accessTokens.length]}`,
          body,
        ),
      ),
    ),
  )
}

/** Formats a complete HTTP/1.1 request. The body must be JSON in ASCII. */
export function formatRequest(
  method: string,
  path: string,
  authorization: string | null,
  body = '',
  headers: readonly string[] = [],
): string {
  return [
    `${method} ${path} HTTP/1.1`,
    'host: 127.0.0.1',
    ...headers,
    ...(authorization === null ? [] : [`authorization: ${authorization}`]),
    ...(body === '' ? [] : ['content-type: application/json', `content-length: ${body.length}`]),
    '',
    body,
  ].join('\r\n')
}

/** Takes the first item of each list, then the second of each, and so on. */
function interleave(lists: readonly (readonly string[])[]): string[] {
  const longest = Math.max(...lists.map((list) => list.length))
  return Array.from({ length: longest }, (_, index) =>
    lists.flatMap((list) => (index < list.length ? [list[index] ?? ''] : [])),
  ).flat()
}
