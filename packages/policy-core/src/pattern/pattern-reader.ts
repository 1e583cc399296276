import type { Parsed } from '../result.ts'
import type { NetworkPattern } from './network-pattern.ts'
import { parseLimitedPath } from './limited-path.ts'
import { parseNetworkPattern } from './parse-network-pattern.ts'
import { parsePathPattern, type PathPattern } from './path-pattern.ts'

/** Reads resources of rules. */
export interface PatternReader {
  readonly network: (text: string) => Parsed<NetworkPattern>
  readonly filesystem: (text: string) => Parsed<PathPattern>
}

/** Parses every resource, and refuses patterns with too many stars. */
export const LIMITING: PatternReader = {
  network: parseNetworkPattern,
  filesystem: parseLimitedPath,
}

/** Parses every resource without limits, for policies that are already checked. */
export const PARSING: PatternReader = {
  network: parseNetworkPattern,
  filesystem: parsePathPattern,
}

/** A reader that parses each text once and remembers the result. */
export interface RememberingReader extends PatternReader {
  /** Drops texts that were not read since the last call. */
  readonly forgetUnread: () => void
}

/** `limits`: whether it refuses patterns with too many stars. */
export function createRememberingReader(limits: boolean): RememberingReader {
  const network = remember(parseNetworkPattern)
  const filesystem = remember(limits ? parseLimitedPath : parsePathPattern)
  return {
    network: network.read,
    filesystem: filesystem.read,
    forgetUnread() {
      network.forgetUnread()
      filesystem.forgetUnread()
    },
  }
}

function remember<T>(parse: (text: string) => T): {
  readonly read: (text: string) => T
  readonly forgetUnread: () => void
} {
  let before = new Map<string, T>()
  let since = new Map<string, T>()
  return {
    read(text) {
      const known = since.get(text)
      if (known !== undefined) return known
      const value = before.get(text) ?? parse(text)
      since.set(text, value)
      return value
    },
    forgetUnread() {
      before = since
      since = new Map()
    },
  }
}
