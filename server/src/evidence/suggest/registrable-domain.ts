import { domainToUnicode } from 'node:url'
import { lint } from '@palisade/policy-analysis'
import { compilePolicy } from '@palisade/policy-core'
import { parse } from 'tldts'

/** A host name by the Public Suffix List, with its private section (`github.io`). */
export interface NameOwner {
  /** The shortest name that one registrant owns; null for a public suffix, or a single label. */
  readonly domain: string | null
  /** `listed` by a registry, `hosting` by a provider, `unknown` in no list. */
  readonly suffix: 'listed' | 'hosting' | 'unknown'
}

/** Finds the owner of a canonical name. */
export function ownerOfName(name: string): NameOwner {
  const { domain, isIcann, isPrivate } = parse(name, {
    allowPrivateDomains: true,
    extractHostname: false,
    validateHostname: false,
    detectIp: false,
  })
  const suffix = isPrivate === true ? 'hosting' : isIcann === true ? 'listed' : 'unknown'
  return { domain: domain ?? null, suffix }
}

/** Tells whether strangers can have names below `name`, or paths behind it. */
export function isPublicSuffix(name: string): boolean {
  const { domain, suffix } = ownerOfName(name)
  return domain === null && suffix !== 'unknown'
}

/**
 * Tells whether every name below `base` belongs to one registrant. The list of `tldts` answers for
 * names, not for regions, so domains with public suffixes further down are listed here, and
 * policy-core knows some more.
 */
export function hasOneOwner(base: string): boolean {
  const { domain, suffix } = ownerOfName(base)
  if (domain === null || suffix === 'unknown' || WITH_SUFFIXES.has(domain)) return false
  return !findingsOf(`**.${base}`).includes('too_broad')
}

/** Tells whether letters of another script in the name imitate another name. */
export function isConfusable(name: string): boolean {
  return name.includes('xn--') && findingsOf(domainToUnicode(name)).includes('confusable_host')
}

function findingsOf(resource: string): readonly string[] {
  const rule = { id: 'r', name: 'r', actions: ['connect:tcp'], decision: 'allow' } as const
  const rules = [{ ...rule, resources: [resource] }]
  const set = { policies: [{ id: 'p', name: 'p', allowlist_v0: { rules } }] }
  try {
    compilePolicy(set)
    return lint(set).map(({ code }) => code)
  } catch {
    // A name that no rule can write is suspicious in both respects.
    return ['too_broad', 'confusable_host']
  }
}

/**
 * Registrable domains with public suffixes below them. A test compares them with the list inside
 * `tldts`.
 */
export const WITH_SUFFIXES: ReadonlySet<string> = new Set(
  `addr.tools akershus.no amazonaws.com amazonaws.com.cn amazoncognito.com amazonwebservices.com.cn
  amazonwebservices.eu amba.host aseinet.ne.jp atlassian-dev.net
  aws-cloud9.us-east-1.amazonaws.com axarnet.cloud bedrock-agentcore.us-east-1.amazonaws.com
  beebyte.io beebyteapp.io brendly.ba brendly.hr brendly.rs bubble.io buskerud.no canva.site
  canvasite.cn cdn77-secure.org cdn77.net cdn77.org cldmail.ru clever-cloud.com
  cloud9.us-east-1.amazonaws.com cloudflareanycast.net cloudflarecn.net cloudflareglobal.net
  cloudlets.com.au cloudplatform.fi cloudscale.ch code.com contentproxy9.cz cosidns.de crm.dev
  cs.amazonlightsail.com dappnode.io databricksapps.com databricksapps.us datadetect.com devs.ai
  dogado.eu dualstack.us-east-1.amazonaws.com elastx.net emergentagent.com emf.camp encoway.cloud
  enscaled.us enter.pro evennode.com evervault.app evervault.dev fastly.net fbsbx.com
  fedoraproject.org fin-ncloudstorage.com flow.ch forgerock.io funkfeuer.at gov-ncloudstorage.com
  grok.bot hedmark.no her.name his.name hooc.me hordaland.no hosted-by-previder.com hosteur.com
  hrsn.net hs-heilbronn.de ik-server.com interhostsolutions.be jelastic.cloud jelastic.com
  jelastic.vps-host.net jenv-aruba.cloud k2.cloud kuleuven.be lair.io layershift.co.uk linode.com
  linodeusercontent.com localcert.dev massivegrid.com massivegrid.net metacentrum.cz
  more-og-romsdal.no muni.cz mynetname.net mythic-beasts.com nabu.casa ncloud.com
  ncloudstorage.com ncpstorage.com neen.it nftstorage.link noc.ruhr-uni-bochum.de nodeart.io
  nordland.no nospamproxy.com objectstorage.ch observableusercontent.com on.aws onstackit.cloud
  ortsinfo.at ostfold.no ovh.net party.eus platform.sh ply.gg prgmr.com project-study.com
  quickconnect.cn quickconnect.to railway.app rb-hosting.io rdpa.co reclaim.cloud render.com
  repost.aws resinstaging.io retrosnub.co.uk rit.edu sagemaker.aws sagemaker.com.cn
  sakurastorage.jp salesforce.com saveincloud.net scaleforce.com.cy scaleforce.net scrypted.io
  scw.cloud spawn.cc speedpartner.de srcf.net storacha.link storage.dev storageapi.dev tawk.email
  tawkto.email tb-hosting.com teckids.org telemark.no thingdust.io transip.me trendhosting.cloud
  typeform.com usgovcloudapi.net vestfold.no w3s.link wafaicloud.com webaccel.jp wiardweb.com
  windows.net xn--mre-og-romsdal-qqb.no xn--stfold-9xa.no`.split(/\s+/),
)
