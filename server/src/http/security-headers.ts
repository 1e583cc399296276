const CONSTANT = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
} as const
const ONE_YEAR_SECONDS = 31_536_000
/** Browsers then use TLS only. Without `includeSubDomains`, because subdomains may not be ours. */
const TRANSPORT = { 'strict-transport-security': `max-age=${ONE_YEAR_SECONDS}` } as const

export type SecurityHeaders = Readonly<Record<string, string>>

/**
 * Headers about the treatment of a body. The 304 of a poll, the most frequent answer, leaves them
 * out.
 */
export const ABOUT_BODIES = [
  'content-security-policy',
  'cross-origin-resource-policy',
  'referrer-policy',
  'x-content-type-options',
  'x-frame-options',
] as const

/** Returns the headers of every answer; the documentation pages have another content policy. */
export function securityHeaders({ hasTls }: { readonly hasTls: boolean }): SecurityHeaders {
  return hasTls ? { ...CONSTANT, ...TRANSPORT } : CONSTANT
}
