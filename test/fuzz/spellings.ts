import type { Random } from '../../bench/src/workload/random.ts'

type Spelling = (text: string, random: Random) => string

/** Respells a host. The result may mean the same host, another one, or be invalid. */
export function respellHost(random: Random, host: string): string {
  return random.pick(HOST_SPELLINGS)(host, random)
}

/** As `respellHost`, for an address. */
export function respellAddressText(random: Random, address: string): string {
  return random.next() < 0.8 ? address : random.pick(ADDRESS_SPELLINGS)(address, random)
}

/** As `respellHost`, for a path. */
export function respellPath(random: Random, path: string): string {
  return random.pick(PATH_SPELLINGS)(path, random)
}

const HOST_SPELLINGS: readonly Spelling[] = [
  (host) => host.toUpperCase(),
  (host, random) => changeOne(host, random, (char) => char.toUpperCase()),
  (host) => `${host}.`,
  (host) => `${host}..`,
  (host) => `.${host}`,
  (host) => host.replace('.', '..'),
  (host) => host.replaceAll('.', '\u3002'),
  (host, random) => changeOne(host, random, fullWidth),
  (host) => host.replace(/[a-z0-9]+$/, (label) => [...label].map(fullWidth).join('')),
  (host) => host.replace(/i/g, '\u0130'),
  (host) => host.replace(/i/g, '\u0131'),
  (host) => host.replace(/s/g, '\u00df'),
  (host) => host.replace(/k/g, '\u212a'),
  (host) => `b\u00fccher.${host}`,
  (host) => `xn--bcher-kva.${host}`,
  (host) => `XN--BCHER-KVA.${host}`,
  (host) => `xn--0.${host}`,
  (host) => host.replaceAll('xn--tda', '\u00fc'),
  (host, random) => insert(host, random, '\u00ad'),
  (host, random) => insert(host, random, '\u200d'),
  (host, random) => insert(host, random, random.pick(['\0', ' ', '/', ':', '%2e', '@', '\t', '*'])),
  (host, random) => insert(host, random, random.pick(['\ud800', '\u0301', '\u202e', '\u{1f512}'])),
  (host) => `${host}:443`,
  (host) => `${host}.127.0.0.1`,
  (host) => `${host}.0x7f`,
]

const ADDRESS_SPELLINGS: readonly Spelling[] = [
  (address) => (address.includes(':') ? address : `::ffff:${address}`),
  (address) => `${address}.`,
  (address) => `[${address}]`,
  (address) => `${address}%eth0`,
  (address) => `0${address}`,
  (address) => address.toUpperCase(),
  (address) => address.replace(/:(?!:)/, ':0'),
  (address) => address.replace('::', ':0:'),
  (address) => [...address].map(fullWidth).join(''),
]

const PATH_SPELLINGS: readonly Spelling[] = [
  (path) => `${path}/`,
  (path) => `${path}//`,
  (path) => `${path}/..`,
  (path) => `${path}/../x`,
  (path) => `${path}/.`,
  (path) => path.replace('/', '//'),
  (path) => path.slice(1),
  (path) => `${path}\0`,
  (path) => path.toUpperCase(),
  (path) => path.normalize('NFD'),
  (path, random) => insert(path, random, random.pick(['\n', '\ud800', '*', '\u00e9', '/'])),
]

function fullWidth(char: string): string {
  return /[!-~]/.test(char) ? String.fromCodePoint((char.codePointAt(0) ?? 0) + 0xfee0) : char
}

function changeOne(text: string, random: Random, change: (char: string) => string): string {
  const at = random.integer(Math.max(1, text.length))
  return text.slice(0, at) + change(text.charAt(at)) + text.slice(at + 1)
}

function insert(text: string, random: Random, what: string): string {
  const at = random.integer(text.length + 1)
  return text.slice(0, at) + what + text.slice(at)
}
