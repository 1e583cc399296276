import { drawResources, takeTurn, type Domain, type Zone } from './domain.ts'
import type { Random } from './random.ts'
import { ENDINGS, REGIONS, SERVICES, WORDS } from './words.ts'

/** Names below registered domains: exact ones, `*.` and `**.`. No ports: peers know none. */
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
  drawStranger: (random) =>
    `${subdomain(random)}.${random.pick(WORDS)}${random.integer(1e6)}.example`,
  drawHostile: (random, zone, turn) =>
    takeTurn(HOSTILE, turn)(instantiateAny(random, zone), zone.root),
  requestFor: (host) => ({ action: 'connect:tcp', host, port: 443 }),
}

type Spoil = (name: string, root: string) => string

const HOSTILE: readonly (readonly [number, Spoil])[] = [
  [4, (name) => name.toUpperCase()],
  [1, (name) => `${name}.`],
  [1, (name) => name.replace('.', '..')],
  [1, (name) => `${name}\0.example`],
  [1, (name) => `b\u00fccher.${name}`],
  [1, (name) => `\uff41pi.${name}`],
  [1, (name) => `xn--0.${name}`],
  [1, (name) => `user@${name}/%2e`],
  [1, () => '127.0x1'],
  [1, (name) => `a.${name}`.repeat(40)],
  // The longest name there is, in labels of one letter: the most suffixes a matcher can be given.
  [2, (_name, root) => `${'a.'.repeat(Math.floor((253 - root.length) / 2))}${root}`],
]

function subdomain({ pick, weighted }: Random): string {
  return weighted([
    [60, () => pick(SERVICES)],
    [25, () => `${pick(SERVICES)}.${pick(REGIONS)}`],
    [15, () => `${pick(WORDS)}.${pick(SERVICES)}.${pick(REGIONS)}`],
  ])()
}

function instantiateAny(random: Random, zone: Zone): string {
  return instantiate(random, random.pick(zone.resources).pattern)
}

function instantiate(random: Random, pattern: string): string {
  if (pattern.startsWith('**.')) return `${subdomain(random)}${pattern.slice(2)}`
  return pattern.startsWith('*.') ? `${random.pick(WORDS)}${pattern.slice(1)}` : pattern
}
