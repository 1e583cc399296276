import { SANDBOX_ADDRESS } from '@palisade/protocol'

/** Ports of the sandbox's own loopback on which the agent serves its programs. */
export const SANDBOX_PORTS = { proxy: 3128, capture: 3129, api: 3130, dns: 53 } as const

/** Commands of `ip -batch`: every address leads to this namespace itself. */
export const IP_COMMANDS = `link set lo up
address add ${SANDBOX_ADDRESS}/32 dev lo
route add local 0.0.0.0/0 dev lo
route add local ::/0 dev lo
`

/**
 * Rules of `nft -f`. DNS to any IPv4 address reaches the policy's own server, and every other TCP
 * connection beyond loopback and the own address reaches the capturing listener. Datagrams to
 * `udpPorts` reach the sockets there. All else is refused at once, so that programs do not wait.
 */
export function formatNftRules(udpPorts: readonly number[]): string {
  const datagrams =
    udpPorts.length === 0 ? '' : `    ip version 4 udp dport { ${udpPorts.join(', ')} } accept\n`
  return `table inet palisade {
  chain redirect_out {
    type nat hook output priority -100; policy accept;
    meta nfproto ipv4 meta l4proto { tcp, udp } th dport 53 redirect to :${SANDBOX_PORTS.dns}
    ip daddr { 127.0.0.0/8, ${SANDBOX_ADDRESS} } accept
    ip6 daddr ::1 accept
    meta l4proto tcp redirect to :${SANDBOX_PORTS.capture}
  }
  chain refuse_out {
    type filter hook output priority 0; policy drop;
    ct state established,related accept
    ip daddr { 127.0.0.0/8, ${SANDBOX_ADDRESS} } accept
    ip6 daddr ::1 accept
${datagrams}    reject with icmpx admin-prohibited
  }
}
`
}
