/**
 * Internals for `@palisade/policy-analysis` of the same version. They are not public: they may
 * change with any version.
 */
export { CARRIERS, embeddedIpv4, type Embedding } from './address/embedded-ipv4.ts'
export { FAMILY_BITS, formatAddress, parseAddress, type IpAddress } from './address/ip-address.ts'
export {
  firstAddress,
  keyOfBits,
  lastAddress,
  rangeContains,
  rangeCovers,
  singleAddress,
  type IpRange,
} from './address/ip-range.ts'
export {
  isLoopback,
  protectedClasses,
  protectionsOf,
  type ProtectedClass,
} from './address/protected-address.ts'
export {
  requireCompiled,
  type CompiledResource,
  type CompiledRule,
} from './decision/compiled-policy.ts'
export { enforcedAt, listInstants, readNow } from './decision/conditions.ts'
export { freePort, LAST_PORT } from './decision/free-port.ts'
export { linearRules } from './decision/linear-rules.ts'
export {
  formatHostPort,
  isLocalhostName,
  MAX_LABEL_LENGTH,
  MAX_NAME_LENGTH,
  parseHost,
} from './host/host.ts'
export { findPath, type FoundPath, type PathMeter } from './language/find-path.ts'
export { utf8Size } from './language/letters.ts'
export { type Segments } from './language/path-automaton.ts'
export {
  foldSegment,
  globMatches,
  literalSegment,
  type GlobPath,
  type GlobSegment,
} from './path/glob.ts'
export { foldCase, MAX_PATH_BYTES, parsePath, segmentsOf } from './path/path.ts'
export { type NetworkPattern } from './pattern/network-pattern.ts'
export { parseNetworkPattern } from './pattern/parse-network-pattern.ts'
export { parsePathPattern, resolvePattern, type PathMeaning } from './pattern/path-pattern.ts'
export { isShadow } from './policy/policy.ts'
export { quote, show } from './quote.ts'
