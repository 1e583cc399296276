import { drawResources, type Domain, type HostileKind } from './domain.ts'
import type { Random } from './random.ts'
import { ENDINGS, REGIONS, SERVICES, WORDS } from './words.ts'

/**
 * Names below registered domains: exact names, `*.` and `**.`, without ports, which peers do not
 * support.
 */
export const hosts: Domain = {
  name: 'hosts',
  action: 'connect:tcp',
  drawZone(random, index) {
    const { pick } = random
    const root = `${pick(WORDS)}-${pick(WORDS)}${index.toString(36)}.${pick(ENDINGS)}`
    const below = (prefix: string): string =>
      `${prefix}${random.next() < 0.5 ? '' : `${pick(SERVICES)}.`}${root}`
    const resources = drawResources(random, 3 + random.integer(5), () =>
      random.weighted([
        [55, () => `${subdomain(random)}.${root}`],
        [10, () => root],
        [20, () => below('*.')],
        [15, () => below('**.')],
      ])(),
    )
    return { root, resources }
  },
  drawRequest(random, zone) {
    if (random.next() < 0.3) return `${random.pick(WORDS)}.${subdomain(random)}.${zone.root}`
    return instantiate(random, random.pick(zone.resources).pattern)
  },
  drawOutside: (random) =>
    `${subdomain(random)}.${random.pick(WORDS)}${random.integer(1e6)}.example`,
  drawInside: (random, zone) => instantiate(random, random.pick(zone.resources).pattern),
  hostile: hostileKinds(),
  requestFor: (host) => ({ action: 'connect:tcp', host, port: 443 }),
}

function hostileKinds(): readonly HostileKind[] {
  return [
    { name: 'upper case', weight: 4, make: (name) => name.toUpperCase() },
    { name: 'trailing dot', weight: 1, make: (name) => `${name}.` },
    { name: 'empty label', weight: 1, make: (name) => name.replace('.', '..') },
    { name: 'NUL', weight: 1, make: (name) => `${name}\0.example` },
    { name: 'letters beyond ASCII', weight: 1, make: (name) => `b\u00fccher.${name}` },
    { name: 'full-width letter', weight: 1, make: (name) => `\uff41pi.${name}` },
    { name: 'broken A-label', weight: 1, make: (name) => `xn--0.${name}` },
    { name: 'user and path', weight: 1, make: (name) => `user@${name}/%2e` },
    { name: 'numeric', weight: 1, make: () => '127.0x1' },
    { name: 'too many labels', weight: 1, make: (name) => `a.${name}`.repeat(40) },
    // The longest valid name, with the most suffixes.
    { name: 'labels of one letter', weight: 2, make: (_name, root) => longest('a.', root) },
    { name: 'capitals of one letter', weight: 0, make: (_name, root) => longest('A.', root) },
    { name: 'labels beyond ASCII', weight: 0, make: (name) => `${'\u00fc.'.repeat(20)}${name}` },
    { name: 'A-labels', weight: 0, make: (_name, root) => longest('xn--tda.', root) },
    { name: '64,000 characters', weight: 0, make: (name) => `${'a'.repeat(64_000)}.${name}` },
  ]
}

function longest(label: string, root: string): string {
  return `${label.repeat(Math.floor((253 - root.length) / label.length))}${root}`
}

function subdomain({ pick, weighted }: Random): string {
  return weighted([
    [60, () => pick(SERVICES)],
    [25, () => `${pick(SERVICES)}.${pick(REGIONS)}`],
    [15, () => `${pick(WORDS)}.${pick(SERVICES)}.${pick(REGIONS)}`],
  ])()
}

function instantiate(random: Random, pattern: string): string {
  if (pattern.startsWith('**.')) return `${subdomain(random)}${pattern.slice(2)}`
  return pattern.startsWith('*.') ? `${random.pick(WORDS)}${pattern.slice(1)}` : pattern
}
