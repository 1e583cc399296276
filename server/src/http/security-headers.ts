const CONSTANT = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
} as const
const ONE_YEAR_SECONDS = 31_536_000
/** Browsers then never ask without TLS again; for this name alone, others below it are not ours. */
const TRANSPORT = { 'strict-transport-security': `max-age=${ONE_YEAR_SECONDS}` } as const

export type SecurityHeaders = Readonly<Record<string, string>>

/** Sent with every answer; the documentation pages replace the content security policy. */
export function securityHeaders({ hasTls }: { readonly hasTls: boolean }): SecurityHeaders {
  return hasTls ? { ...CONSTANT, ...TRANSPORT } : CONSTANT
}
