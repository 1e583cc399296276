/**
 * The origin under which this machine reaches a server bound to `host`. A server on every address
 * is named by the loopback one; from elsewhere it has a name that only its operator knows.
 */
export function formatOrigin(scheme: 'http' | 'https', host: string, port: number): string {
  if (host === '0.0.0.0' || host === '::') return `${scheme}://127.0.0.1:${port}`
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`
}
