import type { Credentials } from '../../../packages/launcher/machine/first-organization.ts'
import { LaunchError } from '../../../packages/launcher/prepare/launch-error.mjs'

/** The demo's administrator, who speaks to the server's HTTP API. */
export interface Administrator {
  applyPolicy(file: PolicyFile): Promise<AppliedPolicy>
  /** Answers the rule's id. */
  addRule(policyId: string, rule: RuleBody): Promise<string>
  changeRule(policyId: string, ruleId: string, change: Partial<RuleBody>): Promise<void>
}

export interface RuleBody {
  readonly name: string
  readonly actions: readonly string[]
  readonly decision: string
  readonly resources: readonly string[]
}

export interface PolicyFile {
  readonly name: string
  readonly rules: readonly RuleBody[]
}

export interface AppliedPolicy {
  readonly id: string
  /** Ids by name. */
  readonly rules: ReadonlyMap<string, string>
}

/** Exchanges the personal token for an access token; `server` is an origin. */
export async function signIn(
  server: string,
  { org, username, personal_token }: Credentials,
): Promise<Administrator> {
  const exchanged = await send(
    `${server}/v2/auth/token`,
    'POST',
    {},
    { username, password: personal_token },
  )
  const headers = { authorization: `Bearer ${String(exchanged['access_token'])}` }
  const policies = `${server}/v2/orgs/${org}/governance/policies`
  const addRule = async (policyId: string, rule: RuleBody) => {
    const created = await send(`${policies}/${policyId}/rules`, 'POST', headers, rule)
    return String(created['id'])
  }
  return {
    addRule,
    async applyPolicy({ name, rules }) {
      const policy = await send(policies, 'POST', headers, { name })
      const id = String(policy['id'])
      const ids = new Map<string, string>()
      for (const rule of rules) ids.set(rule.name, await addRule(id, rule))
      return { id, rules: ids }
    },
    async changeRule(policyId, ruleId, change) {
      await send(`${policies}/${policyId}/rules/${ruleId}`, 'PATCH', headers, change)
    },
  }
}

async function send(
  url: string,
  method: string,
  headers: Readonly<Record<string, string>>,
  body: object,
): Promise<Record<string, unknown>> {
  const response = await fetch(url, {
    method,
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(10_000),
  })
  const text = await response.text()
  if (!response.ok)
    throw new LaunchError(`${method} ${url} was answered ${response.status}: ${text}`)
  return JSON.parse(text) as Record<string, unknown>
}
