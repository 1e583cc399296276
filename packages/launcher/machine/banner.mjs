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
 * @param {import('./first-organization.mjs').Credentials | null} machine.credentials
 * @returns {string}
 */
export function formatBanner({ url, proxy, org, owner, dataDir, dataPrefix, credentials }) {
  const rows = [
    ['server', `${url}  (API pages: ${url}/docs)`],
    ['organization', `${org}, owner ${owner}`],
    ...(credentials === null ? [] : credentialRows(credentials)),
    ['proxy', proxy],
    ['data', `${dataDir}  (server.log, agent.log)`],
  ]
  const table = rows.map(([label = '', value = '']) => `  ${label.padEnd(14)}${value}`)
  const palisade = 'npm run -s palisade --'
  return [
    '',
    'Palisade is running. Ctrl-C stops it.',
    '',
    ...table,
    '',
    'Nothing is allowed yet. In another terminal, in this folder:',
    '',
    `  ${palisade} login --server ${url} --org ${org} --username ${owner}`,
    `  ${palisade} policy create first`,
    `  ${palisade} rule add first --name web --action connect:tcp --allow example.com`,
    '',
    'The agent takes it within five minutes, or at once with:',
    '',
    `  ${dataPrefix}${palisade} sync && curl -x ${proxy} http://example.com/`,
    '',
    '',
  ].join('\n')
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
