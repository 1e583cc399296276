/** The origin of a server that listens on `host`, a name or an address. */
export function formatOrigin(scheme: 'http' | 'https', host: string, port: number): string {
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`
}

/**
 * Whether a bound address stands for every address of the machine, so that it names no single one.
 */
export function isEveryAddress(address: string): boolean {
  return address === '0.0.0.0' || address === '::'
}

/** Whether only programs on this machine reach the bound address. */
export function isLoopback(address: string): boolean {
  return address === '::1' || /^(::ffff:)?127\./.test(address)
}
