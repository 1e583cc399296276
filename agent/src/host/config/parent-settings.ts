import { canonicalHost, compilePolicy, PolicyError, type Policy } from '@palisade/policy-core'
import { z } from 'zod'

/** The proxy of the network through which allowed connections go. Paths are absolute. */
export interface ParentSettings {
  readonly scheme: 'http' | 'https'
  /** A-label name, or an address without brackets. */
  readonly host: string
  readonly port: number
  /** File with one line `user:password`. */
  readonly credentialsPath: string | null
  /** File with the certificates to trust, in place of the usual authorities. */
  readonly caPath: string | null
  /** Patterns of rules, for targets that are dialled directly. */
  readonly noProxy: readonly string[]
  /** Whether the parent resolves names, in place of this machine. */
  readonly resolves: boolean
}

const URL_FORM = /^(https?):\/\/(?:\[([0-9A-Fa-f:.]+)\]|([^\s:/?#@[\]]+)):([1-9]\d{0,4})\/?$/
const WRITE_URL = 'must be `http://host:port` or `https://host:port`'

const urlSchema = z.string().transform((text, context) => {
  const url = parseParentUrl(text)
  if (url !== null) return url
  const message = text.includes('@')
    ? `${WRITE_URL}; credentials go into the file that PALISADE_PARENT_PROXY_CREDENTIALS names`
    : WRITE_URL
  context.addIssue({ code: 'custom', message })
  return z.NEVER
})

const noProxySchema = z.string().transform((text, context) => {
  const patterns = text.split(',').map((entry) => toPattern(entry.trim()))
  const problem = patternProblem(patterns)
  if (problem === null) return patterns
  context.addIssue({
    code: 'custom',
    message: `must be a comma-separated list of names, addresses and ranges: ${problem}`,
  })
  return z.NEVER
})

export const parentVariables = {
  PALISADE_PARENT_PROXY: urlSchema.optional(),
  PALISADE_PARENT_PROXY_CREDENTIALS: z.string().optional(),
  PALISADE_PARENT_CA: z.string().optional(),
  PALISADE_PARENT_NO_PROXY: noProxySchema.optional(),
  PALISADE_PARENT_RESOLVES: z.enum(['yes', 'no'], 'must be `yes` or `no`').optional(),
}

/** The variables whose value may hold a password, so that no message repeats it. */
export const SECRET_VARIABLES: ReadonlySet<string> = new Set([
  'PALISADE_PARENT_PROXY',
  // A caller may mistake the file's path for its content.
  'PALISADE_PARENT_PROXY_CREDENTIALS',
])

type ParentVariables = z.infer<z.ZodObject<typeof parentVariables>>

/** Lists one line for each setting that contradicts another. */
export function parentContradictions(
  variables: ParentVariables,
  { proxyPort }: { readonly proxyPort: number },
): string[] {
  const parent = variables.PALISADE_PARENT_PROXY
  if (parent === undefined)
    return Object.keys(parentVariables)
      .filter((name) => variables[name as keyof ParentVariables] !== undefined)
      .map((name) => `${name}: has a meaning only with PALISADE_PARENT_PROXY; set that too`)
  const problems: string[] = []
  if (['127.0.0.1', 'localhost'].includes(parent.host) && parent.port === proxyPort)
    problems.push(
      'PALISADE_PARENT_PROXY: is the proxy of this agent itself; name the proxy of the network',
    )
  if (parent.scheme === 'http' && variables.PALISADE_PARENT_CA !== undefined)
    problems.push('PALISADE_PARENT_CA: has a meaning only with an `https://` parent; remove it')
  return problems
}

export function toParentSettings(
  variables: ParentVariables,
  absolute: (path: string) => string,
): ParentSettings | null {
  const parent = variables.PALISADE_PARENT_PROXY
  if (parent === undefined) return null
  const credentials = variables.PALISADE_PARENT_PROXY_CREDENTIALS
  const ca = variables.PALISADE_PARENT_CA
  return {
    ...parent,
    credentialsPath: credentials === undefined ? null : absolute(credentials),
    caPath: ca === undefined ? null : absolute(ca),
    noProxy: variables.PALISADE_PARENT_NO_PROXY ?? [],
    resolves: variables.PALISADE_PARENT_RESOLVES === 'yes',
  }
}

/** The policy that allows the targets of `patterns`, so that they mean the same as in a rule. */
export function noProxyPolicy(patterns: readonly string[]): Policy {
  const rule = {
    id: 'no_proxy',
    name: 'no proxy',
    actions: ['connect:tcp'],
    decision: 'allow',
    resources: patterns,
  } as const
  return { id: 'no_proxy', name: 'no proxy', allowlist_v0: { rules: [rule] } }
}

function parseParentUrl(text: string): Pick<ParentSettings, 'scheme' | 'host' | 'port'> | null {
  const parts = URL_FORM.exec(text)
  const [, scheme, bracketed, bare = '', digits] = parts ?? []
  const port = Number(digits)
  const host = canonicalHost(bracketed ?? bare)
  if (parts === null || host === null || port > 65_535) return null
  return {
    scheme: scheme === 'https' ? 'https' : 'http',
    host: host.kind === 'name' ? host.name : host.address,
    port,
  }
}

/** Lets `.example.com` and `*.example.com` cover names of any depth, as in other programs. */
function toPattern(entry: string): string {
  return entry.replace(/^\*?\.(?=[^.*])/, '**.')
}

function patternProblem(patterns: readonly string[]): string | null {
  try {
    compilePolicy({ policies: [noProxyPolicy(patterns)] })
    return null
  } catch (error) {
    if (error instanceof PolicyError) return error.problems[0]?.message ?? error.message
    throw error
  }
}
