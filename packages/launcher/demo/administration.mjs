import { LaunchError } from '../prepare/launch-error.mjs'

/**
 * The demo's administrator, who speaks to the server's HTTP API.
 *
 * @typedef {object} Administrator
 * @property {(file: PolicyFile) => Promise<AppliedPolicy>} applyPolicy
 * @property {(policyId: string, rule: RuleBody) => Promise<string>} addRule answers the rule's id
 * @property {(policyId: string, ruleId: string, change: Partial<RuleBody>) => Promise<void>}
 * changeRule
 */

/**
 * @typedef {{ name: string, actions: string[], decision: string, resources: string[] }} RuleBody
 */
/** @typedef {{ name: string, rules: RuleBody[] }} PolicyFile */
/**
 * @typedef {{ id: string, rules: ReadonlyMap<string, string> }} AppliedPolicy `rules`: ids by name
 */

/**
 * Exchanges the personal token for an access token.
 *
 * @param {string} server origin
 * @param {import('../machine/first-organization.ts').Credentials} credentials
 * @returns {Promise<Administrator>}
 */
export async function signIn(server, { org, username, personal_token }) {
  const exchanged = await send(
    `${server}/v2/auth/token`,
    'POST',
    {},
    { username, password: personal_token },
  )
  const headers = { authorization: `Bearer ${String(exchanged['access_token'])}` }
  const policies = `${server}/v2/orgs/${org}/governance/policies`
  /** @type {Administrator['addRule']} */
  const addRule = async (policyId, rule) => {
    const created = await send(`${policies}/${policyId}/rules`, 'POST', headers, rule)
    return String(created['id'])
  }
  return {
    addRule,
    async applyPolicy({ name, rules }) {
      const policy = await send(policies, 'POST', headers, { name })
      const id = String(policy['id'])
      const ids = /** @type {Map<string, string>} */ (new Map())
      for (const rule of rules) ids.set(rule.name, await addRule(id, rule))
      return { id, rules: ids }
    },
    async changeRule(policyId, ruleId, change) {
      await send(`${policies}/${policyId}/rules/${ruleId}`, 'PATCH', headers, change)
    },
  }
}

/**
 * @param {string} url
 * @param {string} method
 * @param {Record<string, string>} headers
 * @param {object} body
 * @returns {Promise<Record<string, unknown>>}
 */
async function send(url, method, headers, body) {
  const response = await fetch(url, {
    method,
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(10_000),
  })
  const text = await response.text()
  if (!response.ok)
    throw new LaunchError(`${method} ${url} was answered ${response.status}: ${text}`)
  return JSON.parse(text)
}
