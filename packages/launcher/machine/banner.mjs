/** @typedef {{ revision: number, policies: number, rules: number }} PoliciesInForce */

const PALISADE = 'npm run -s palisade --'

/**
 * What a person sees once everything runs.
 *
 * @param {object} machine
 * @param {string} machine.url
 * @param {string} machine.proxy
 * @param {string} machine.org
 * @param {string} machine.owner
 * @param {string} machine.dataDir
 * @param {string} machine.dataPrefix what a command must be told to find the same directory
 * @param {PoliciesInForce | null} machine.inForce at the agent
 * @param {import('./first-organization.mjs').Credentials | null} machine.credentials
 * @returns {string}
 */
export function formatBanner(machine) {
  const { url, proxy, org, owner, dataDir, dataPrefix, inForce, credentials } = machine
  const rows = [
    ['server', `${url}  (API pages: ${url}/docs)`],
    ['organization', `${org}, owner ${owner}`],
    ...(credentials === null ? [] : credentialRows(credentials)),
    ['proxy', proxy],
    ['data', `${dataDir}  (server.log, agent.log)`],
  ]
  const table = rows.map(([label = '', value = '']) => `  ${label.padEnd(14)}${value}`)
  const login = `  ${PALISADE} login --server ${url} --org ${org} --username ${owner}`
  const reset = `${dataPrefix}npm run -s palisade-server -- user reset-password ${owner}`
  const isEmpty = inForce === null || inForce.policies === 0
  return [
    '',
    'Palisade is running. Ctrl-C stops it.',
    '',
    ...table,
    '',
    ...(isEmpty ? firstSteps(login) : nextSteps(login, inForce, dataPrefix)),
    ...(credentials === null
      ? [`A lost token and password are replaced by a new password:`, '', `  ${reset}`, '']
      : []),
    'The agent takes a change within five minutes, or at once with:',
    '',
    `  ${dataPrefix}${PALISADE} sync && curl -x ${proxy} http://example.com/`,
    '',
    '',
  ].join('\n')
}

/** @param {string} login */
function firstSteps(login) {
  return [
    'Nothing is allowed yet. In another terminal, in this folder:',
    '',
    login,
    `  ${PALISADE} policy create first`,
    `  ${PALISADE} rule add first --name web --action connect:tcp --allow example.com`,
    '',
  ]
}

/**
 * @param {string} login
 * @param {PoliciesInForce} inForce
 * @param {string} dataPrefix
 */
function nextSteps(login, { revision, policies, rules }, dataPrefix) {
  const counted = `${count(policies, 'policy', 'policies')}, ${count(rules, 'rule', 'rules')}`
  return [
    `In force: revision ${revision}, ${counted}. In another terminal, in this folder:`,
    '',
    `  ${dataPrefix}${PALISADE} status`,
    login,
    `  ${PALISADE} policy list`,
    '',
  ]
}

/**
 * @param {number} n
 * @param {string} one
 * @param {string} many
 */
function count(n, one, many) {
  return `${n} ${n === 1 ? one : many}`
}

/**
 * Shown this once, also when something fails afterwards: nobody can read them again.
 *
 * @param {import('./first-organization.mjs').Credentials} credentials
 * @returns {[string, string][]}
 */
export function credentialRows(credentials) {
  return [
    ['token', `${credentials.personal_token}  (shown this once)`],
    ['password', `${credentials.password}  (of ${credentials.username}, shown this once)`],
  ]
}
