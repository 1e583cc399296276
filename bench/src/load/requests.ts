import { createProver } from '../../../packages/client/src/device/proof.ts'
import { UPDATE_PATH } from '../../../packages/protocol/src/index.ts'
import { COUNTER } from './load-request.ts'
import type { Filled } from '../fill/fill-organization.ts'

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

/** One request per device, alternating between organizations. */
export function pollRequests(filled: readonly Filled[], headers: readonly string[] = []): string[] {
  return interleave(
    filled.map(({ org, view, deviceTokens }) => {
      const path = `/api/v1/orgs/${org}/views/${view}/metadata/timestamp.json`
      return deviceTokens.map((token) => formatRequest('GET', path, `DPoP ${token}`, '', headers))
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

/** One request per editor for all policies, alternating between organizations. */
export function policyListRequests(organizations: readonly SignedIn[]): string[] {
  return interleave(
    organizations.map(({ org, accessTokens }) =>
      accessTokens.map((token) =>
        formatRequest('GET', `/v2/orgs/${org}/governance/policies`, `Bearer ${token}`),
      ),
    ),
  )
}

/**
 * `count` conditional requests for the files of machines, each with a proof of its own, alternating
 * between machines.
 */
export async function updateRequests(
  port: number,
  filled: readonly Filled[],
  count: number,
): Promise<string[]> {
  const url = `http://127.0.0.1:${port}${UPDATE_PATH}`
  const each = interleave(
    filled.map(({ view, machines }) => machines.map((of) => ({ view, ...of }))),
  )
  const askers = await Promise.all(
    each.map(async ({ view, key, token }) => {
      const prove = createProver(key, Date.now)
      const path = `${UPDATE_PATH}?root=1&view=${view}&targets=1`
      const proof = () => prove({ method: 'GET', url, accessToken: token })
      const authorization = `DPoP ${token}`
      const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
        headers: { authorization, dpop: proof() },
      })
      const etag = answer.headers.get('etag')
      if (etag === null) throw new Error(`no update: ${answer.status} ${await answer.text()}`)
      await answer.arrayBuffer()
      return () =>
        formatRequest('GET', path, authorization, '', [
          // The proof names the port.
          `host: 127.0.0.1:${port}`,
          `dpop: ${proof()}`,
          `if-none-match: ${etag}`,
        ])
    }),
  )
  return Array.from({ length: count }, (_, index) => askers[index % askers.length]?.() ?? '')
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
    ...(headers.some((line) => line.startsWith('host: ')) ? [] : ['host: 127.0.0.1']),
    ...headers,
    ...(authorization === null ? [] : [`authorization: ${authorization}`]),
    ...(body === '' ? [] : ['content-type: application/json', `content-length: ${body.length}`]),
    '',
    body,
  ].join('\r\n')
}

/** Takes the first item of each list, then the second of each, and so on. */
function interleave<T>(lists: readonly (readonly T[])[]): T[] {
  const longest = Math.max(...lists.map((list) => list.length))
  return Array.from({ length: longest }, (_, index) =>
    lists.flatMap((list) => list.slice(index, index + 1)),
  ).flat()
}
