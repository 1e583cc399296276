/** Facts that the script tells of its sandbox, each as a line `KEY value`. */
export const FACTS = [
  'allowed',
  'refused',
  'synthetic',
  'loopback',
  'dns',
  'granted',
  'denied',
  'outside',
  'unix',
  'status',
  'processes',
] as const
export type Fact = (typeof FACTS)[number]

/** The arguments of the script, in this order. None has a line feed. */
export interface ScriptArguments {
  /** The names of the canaries. */
  readonly allowed: string
  readonly refused: string
  readonly port: number
  /** The texts for the canaries. */
  readonly allowedText: string
  readonly refusedText: string
  /** An address of the range that stands for names, which stands for no name. */
  readonly synthetic: string
  /** Files in the workspace, and one outside. */
  readonly granted: string
  readonly denied: string
  readonly outside: string
  /** A query for an unknown name, as escapes of printf(1). */
  readonly query: string
}

/**
 * Run by bash(1), whose redirections make connections, so that no program of our own has to be in
 * the view. It only tells facts; the agent, outside, concludes. The proxy is not used: the script
 * is a program that ignores it. An answer to the query must come within four seconds: a
 * resolver that waits for another server takes longer.
 */
const SCRIPT = String.raw`
for name in allowed refused port allowed_text refused_text synthetic granted denied outside query
do
  IFS= read -r "$name"
done
exec 2>/dev/null

tell() {
  printf '%s %s\n' "$1" "$2"
}

ask() {
  exec 3<>"/dev/tcp/$1/$port" || return
  printf 'GET /%s HTTP/1.1\r\nHost: %s:%s\r\nConnection: close\r\n\r\n' "$2" "$1" "$port" >&3
  while read -r line || [ -n "$line" ]; do last=$line; done <&3
  printf '%s' "$last"
}

cd /proc
printf 'processes %s' "$$"
printf ' %s' [0-9]*
printf '\n'
cd /
lines=
while read -r key value; do
  case $key in Cap*|NoNewPrivs:|Seccomp:) lines="$lines$key$value " ;; esac
done </proc/self/status
tell status "$lines"

tell allowed "$(ask "$allowed" "$allowed_text")"
tell refused "$(ask "$refused" "$refused_text")"
tell synthetic "$(ask "$synthetic" "$refused_text")"
tell loopback "$(ask 127.0.0.1 "$refused_text")"
tell dns "$(
  exec 3<>/dev/udp/192.0.2.53/53
  printf "$query" >&3
  timeout 4 head -c 4 <&3 | od -An -tx1
)"

read -r granted_text <"$granted"
tell granted "$granted_text"
printf 'written\n' >"$granted.written"
read -r denied_text <"$denied"
tell denied "$denied_text"
read -r outside_text <"$outside"
tell outside "$outside_text"
tell unix "$(logger --socket-errors=on --socket /run/probe.sock probe 2>&1)"
`

/** The whole command of a probe, for the trampoline. */
export const SCRIPT_COMMAND = ['bash', '-c', SCRIPT] as const

/**
 * The standard input of the script, a line for each argument. Every user of the machine can read
 * the words of a command, and could then speak to a canary.
 */
export function formatInput(of: ScriptArguments): string {
  const words = [of.allowed, of.refused, String(of.port), of.allowedText, of.refusedText]
  const files = [of.synthetic, of.granted, of.denied, of.outside]
  return [...words, ...files, of.query].map((each) => `${each}\n`).join('')
}

/**
 * A DNS query for the address of `name` (RFC 1035 §4.1), with the id 0x5041. No label is of 10
 * bytes, because printf(1) would send the line feed as the end of a datagram.
 */
export function formatQuery(name: string): string {
  const labels = name.split('.').map((label) => `\\x${hex(label.length)}${label}`)
  const flags = '\\x01\\x00\\x00\\x01\\x00\\x00\\x00\\x00\\x00\\x00'
  return `PA${flags}${labels.join('')}\\x00\\x00\\x01\\x00\\x01`
}

function hex(byte: number): string {
  return byte.toString(16).padStart(2, '0')
}
