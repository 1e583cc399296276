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

/**
 * How a browser is to treat a body: a third of an answer that has none, and that one is sent a
 * thousand times for every other.
 */
export const ABOUT_BODIES = [
  'content-security-policy',
  'cross-origin-resource-policy',
  'referrer-policy',
  'x-content-type-options',
  'x-frame-options',
] as const

/** Sent with every answer; the documentation pages replace the content security policy. */
export function securityHeaders({ hasTls }: { readonly hasTls: boolean }): SecurityHeaders {
  return hasTls ? { ...CONSTANT, ...TRANSPORT } : CONSTANT
}
