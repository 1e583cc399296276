import { ACTIONS, domainOf, isAction } from '@palisade/policy-core'
import { isIPv6 } from 'node:net'
import { usageError } from '../runtime/cli-error.ts'

const LIST = new Intl.ListFormat('en-GB', { type: 'disjunction' })

/** The actions as the help of an argument names them. */
export const ACTION_NAMES: string = LIST.format(ACTIONS)

/** A request as written; the evaluator validates its spelling. */
export interface WrittenRequest {
  readonly action: string
  readonly host?: string
  readonly port?: number
  readonly address?: string
  readonly path?: string
}

/**
 * Splits `target` without normalizing it: the evaluator gets host, address and path as written, so
 * that a hostile spelling is evaluated and not repaired. Throws exit 2.
 */
export function parseTarget(
  action: string,
  target: string,
  address: string | undefined,
): WrittenRequest {
  if (!isAction(action))
    throw usageError(
      `unknown action \`${action}\`; ` +
        `write one of ${ACTIONS.map((known) => `\`${known}\``).join(', ')}`,
    )
  if (domainOf(action) === 'network')
    return {
      action,
      ...splitHostPort(target),
      ...(address === undefined ? {} : { address }),
    }
  if (address !== undefined)
    throw usageError(`\`--address\` is for connect actions; \`${action}\` takes a path only`)
  return { action, path: target }
}

function splitHostPort(target: string): { host: string; port: number } {
  const colon = target.lastIndexOf(':')
  if (target === '' || target === ':')
    throw usageError(`the target names no host; write one such as \`example.com:443\``)
  // If a bracket closes at the end, every colon is inside the brackets.
  if (colon < 0 || /^\[.*\]$/s.test(target))
    throw usageError(`\`${target}\` has no port; write \`${target}:443\``)
  const port = target.slice(colon + 1)
  if (port.startsWith('//'))
    throw usageError(
      `\`${target}\` is a URL; write host and port alone, such as \`example.com:443\``,
    )
  if (port === '') throw usageError(`\`${target}\` has an empty port; write \`${target}443\``)
  // Number() would accept a sign, a space, a leading zero or another base.
  if (!/^(?:0|[1-9][0-9]*)$/.test(port))
    throw usageError(
      `\`${port}\` is not a port; write plain digits, such as \`example.com:443\` ` +
        'or `[2001:db8::1]:443`',
    )
  return { host: withoutBrackets(target.slice(0, colon)), port: Number(port) }
}

/** Removes brackets around an IPv6 address only; `[example.com]` stays invalid. */
function withoutBrackets(host: string): string {
  const inner = /^\[(.*)\]$/s.exec(host)?.[1]
  return inner !== undefined && isIPv6(inner) ? inner : host
}
