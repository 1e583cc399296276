import { bundleOf } from '../../agent/fixture/bundle.ts'
import { startLocalApi } from '../../agent/fixture/local-api.ts'

/** A request as httpjail 0.6.1 sends it. */
export function line(url: string, method = 'GET'): string {
  const { protocol, host, pathname } = new URL(url)
  const request = { url, method, scheme: protocol.slice(0, -1), host, path: pathname }
  return `${JSON.stringify({ ...request, requester_ip: '127.0.0.1' })}\n`
}

export async function startAgent() {
  const api = await startLocalApi(bundleOf(['allow', 'connect:tcp', 'allowed.test']), {
    'allowed.test': ['192.0.2.7'],
  })
  return { ...api, env: { PALISADE_AGENT_SOCKET: api.socketPath } }
}
