"""Prototype of the run."""
from __future__ import annotations
import numpy as np
from scipy.special import ndtri, ndtr, logsumexp
from scipy.stats import qmc
from ..process.basis import basis_size, basis_functions
from .climb import Climb, Quadratic, local_quadratic
from .mixture import Mixture
from .nodes import Nodes, draw, resample, around
from .zeros import SignProcess
from .surrogate import FAMILIES, Surrogate, Whitening, depth_noise, fit_lengthscales, JITTER

LOG2PI = np.log(2*np.pi)

class Engine:
    def __init__(self, dim, n, seed=0, proper=True):
        self.d, self.n, self.seed = dim, n, np.random.SeedSequence(seed)
        self.Z = np.empty((0, dim)); self.L = np.empty(0)
        self.climbs = []; self.modes = []
        self.theta = {}
        self.white = None; self.nodes = None; self.sur = None
        self.asked_kind = 'spread'
        d = dim
        self.n0 = min(max(2*d+2, 6, n//12), max(3, n//3))
        u = qmc.Sobol(d, scramble=True, rng=np.random.default_rng(self.seed.spawn(1)[0])).random(256)
        self.spread = ndtri(np.clip(u, 1e-12, 1-1e-12))
        self.resid = []   # (standardised residual, relevance)
        self.fitn = 0; self.done=[]; self.checked=False; self.starts=[]
        self.log = []
    def logphi(self, z): return -0.5*np.sum(z*z,axis=1) - 0.5*self.d*LOG2PI
    @property
    def G(self): return self.L + self.logphi(self.Z)
    def ask(self):
        n = len(self.Z)
        if n < self.n0:
            self.kind='spread'; return self.spread[n:self.n0]
        fin = np.isfinite(self.L)
        if not fin.any():
            self.kind='spread'; return self.spread[n:n+self.d+2]
        if not self.climbs:
            G=self.G; b=int(np.argmax(np.where(fin,G,-np.inf)))
            self.budgets=[int(min(max(0.7*self.n-self.n0,2), 12*self.d+12))]
            self.climbs=[Climb(self.Z[b].copy(), float(G[b]), 1.0, int(min(max(0.7*self.n-self.n0,2), 12*self.d+12)))]
        c = self.climbs[-1]
        if not c.ended:
            self.kind='climb'
            pts=c.propose(self.Z[fin], self.G[fin])
            return pts[:self.n-n]
        if c not in self.done:
            self.done.append(c); self.register(c)
        if not self.checked and self.modes:
            self.checked=True
            self.starts=list(self.candidates())
        while self.starts:
            i=self.starts.pop(0)
            used=sum(c0-c.budget for c,c0 in zip(self.climbs[1:],self.budgets[1:]))
            if self.explained(i) or self.n-n < 4*self.d or used > 0.3*self.n: continue
            m=self.modes[0]
            dist=np.linalg.norm(self.Z[i]-m.centre)
            self.climbs.append(Climb(self.Z[i].copy(), float(self.G[i]), 0.5*min(1.0,dist), int(min(0.3*self.n, 8*self.d+8))))
            self.budgets.append(self.climbs[-1].budget)
            return self.ask()
        self.kind='round'
        return self.round()
    def tell(self, z, l):
        if self.kind=='climb':
            g = np.where(np.isfinite(l), l, -np.inf)+self.logphi(z)
            self.climbs[-1].learn(z, g)
        if self.kind=='dips':
            g=np.where(np.isfinite(l),l,-np.inf)+self.logphi(z)
            self.starts=[i for i,gm in zip(self.cand,g) if gm < self.G[i]-0.2][:2]
        if self.kind=='climb' and len(self.modes):
            c=self.climbs[-1]
            for m in self.modes:
                s=c.best-m.centre
                if -s@m.curvature@s < 9: c.ended=True
        if self.kind=='round' and self.sur is not None:
            p=self.sur.predict(z); m=p.mean+self.sur.offset(z); v=self.sur.amplitude*p.variance(np.ones(len(z)))
            g=l+self.logphi(z); ok=np.isfinite(g)
            top=self.G[np.isfinite(self.G)].max()
            self.resid += [( (g[i]-m[i]), v[i], top-g[i], len(self.Z)) for i in np.flatnonzero(ok)]
        self.Z=np.vstack([self.Z,z]); self.L=np.concatenate([self.L,l])
    def register(self,c):
        fin=np.isfinite(self.L); Z=self.Z[fin]; G=self.G[fin]
        b=int(np.argmin(np.sum((Z-c.best)**2,axis=1)))
        if self.modes:
            for m in self.modes:
                s=c.best-m.centre
                if -s@m.curvature@s < 9: return
        q=local_quadratic(Z,G,b,c.radius)
        if c.model is not None and not q.concave: q=c.model
        if not q.concave: return
        step=q.step(c.radius); top=Z[b]+step
        self.modes.append(Quadratic(top, float(q(top[None])[0]), np.zeros(self.d), q.curvature))
    def explained(self,i):
        return any(self.G[i] < m(self.Z[i][None])[0]+2.0 for m in self.modes)
    def candidates(self):
        fin=np.isfinite(self.L); idx=[i for i in range(min(self.n0,len(self.Z))) if fin[i] and not self.explained(i)]
        idx=[i for i in idx if self.G[i] > self.modes[0].constant - 60 - 10*self.d]
        idx.sort(key=lambda i:-self.G[i])
        return np.array(idx[:10],dtype=int)
    # -- surrogate
    def whitening(self):
        d=self.d
        if self.nodes is not None and self.nodes.effective*len(self.nodes.points) > 20*d:
            w=self.nodes.weights; c=w@self.nodes.points; s=self.nodes.points-c
            cov=(s*w[:,None]).T@s
            return Whitening(c, np.linalg.cholesky(cov+1e-12*np.trace(cov)/d*np.eye(d)))
        fin=np.isfinite(self.L); G=self.G[fin]; Z=self.Z[fin]
        b=int(np.argmax(G))
        c=self.climbs[-1] if self.climbs else None
        q=local_quadratic(Z,G,b,c.radius if c else 1.0)
        val,ax=np.linalg.eigh(-q.curvature)
        val=np.where(val>1e-3, val, 1.0)
        top=q.step(c.radius if c else 1.0) if q.concave else np.zeros(d)
        return Whitening(Z[b]+top, np.linalg.cholesky((ax/val)@ax.T))
    def fit(self):
        d=self.d
        fin=np.isfinite(self.L); Z=self.Z[fin]; G=self.G[fin]; n=len(G)
        W=self.whitening()
        s=W.forward(Z)
        noise=depth_noise(G,d)
        refit = n >= 1.1*self.fitn or not self.theta
        basis='quadratic' if n >= basis_size('quadratic',d)+d+2 else 'constant'
        if basis=='quadratic': offset=self.logphi
        else:
            offset=lambda z: -0.5*np.sum(W.forward(z)**2,axis=1)
        cands=[]
        for fam in FAMILIES:
            starts=[self.theta[fam.name]] if fam.name in self.theta else [np.full(d,np.log(2*np.sqrt(d))), np.full(d,np.log(0.7*np.sqrt(d)))]
            val,th=fit_lengthscales(s, G-offset(Z), basis, noise, fam, starts, 20 if refit else 3)
            self.theta[fam.name]=th; cands.append((val,fam,th))
        self.fitn = n if refit else self.fitn
        best=max(cands,key=lambda c:c[0])
        self.cands=cands
        sur=Surrogate(Z,G,W,offset,basis,best[1],best[2])
        if basis=='quadratic':
            # curvature of the mean in whitened coordinates, prior included
            b=sur.regression.coefficients; H=np.diag(2*b[1+d:1+2*d]); i,j=np.triu_indices(d,1); H[i,j]=H[j,i]=b[1+2*d:]
            H=H-W.root.T@W.root
            if np.linalg.eigvalsh(H)[-1] > -0.02:
                basis='constant'; offset=lambda z: -0.5*np.sum(W.forward(z)**2,axis=1)
                cands=[]
                for fam in FAMILIES:
                    val,th=fit_lengthscales(s, G-offset(Z), basis, noise, fam, [self.theta[fam.name]], 10)
                    cands.append((val,fam,th))
                best=max(cands,key=lambda c:c[0]); self.cands=cands
                sur=Surrogate(Z,G,W,offset,basis,best[1],best[2])
        if len(self.modes)>1:
            off=lambda z: np.logaddexp.reduce([m(z) for m in self.modes],axis=0)
            cl=[]
            for fam in FAMILIES:
                key=fam.name+'lse'
                val,th=fit_lengthscales(s, G-off(Z), 'constant', noise, fam, [self.theta.get(key,np.full(d,np.log(2*np.sqrt(d))))], 20 if refit else 3)
                self.theta[key]=th; cl.append((val,fam,th))
            bl=max(cl,key=lambda c:c[0])
            alt=Surrogate(Z,G,W,off,'constant',bl[1],bl[2])
            if self.loo_score(alt)>self.loo_score(sur): sur=alt; self.cands=cl
        self.sur=sur
        self.sign=SignProcess.fit(W.forward(self.Z), np.isfinite(self.L)) if (~np.isfinite(self.L)).any() else None
        return sur
    def loo_score(self,sur):
        e,v=sur.regression.leave_one_out(); v=v*sur.amplitude
        w=np.exp(-0.1*np.minimum(sur.values.max()-sur.values,100.0))
        return float(np.sum(w*(-0.5*e**2/v-0.5*np.log(v)))/w.sum())
    def logpos(self,z):
        return np.log(np.maximum(self.sign.probability(self.sur.whitening.forward(z)),1e-30)) if self.sign is not None else 0.0
    def joint(self, z, sur=None):
        sur=sur or self.sur
        g=sur.mean(z)
        cap=np.nanmax(np.where(np.isfinite(self.L),self.L,np.nan))+2.0
        return np.minimum(g-self.logphi(z), cap)+self.logphi(z)+self.logpos(z)
    def gauss(self,sur):
        if sur.basis!='quadratic': return None
        d=self.d; W=sur.whitening
        b=sur.regression.coefficients; H=np.diag(2*b[1+d:1+2*d]); i,j=np.triu_indices(d,1); H[i,j]=H[j,i]=b[1+2*d:]
        H=H-W.root.T@W.root; grad=b[1:1+d]-W.root.T@W.centre
        if np.linalg.eigvalsh(H)[-1]>-0.02: return None
        s0=-np.linalg.solve(H,grad)
        return W.back(s0[None])[0], np.linalg.cholesky(W.root@np.linalg.inv(-H)@W.root.T)
    def make_nodes(self, size=256, reps=4):
        d=self.d; sur=self.sur; W=sur.whitening
        I=np.eye(d)
        means=[W.centre,W.centre,np.zeros(d)]; roots=[W.root,2.0*W.root,I]; dfs=[np.inf,5.0,np.inf]; wts=[0.6,0.3,0.1]
        gq=self.gauss(sur)
        if gq is not None:
            means.insert(0,gq[0]); roots.insert(0,gq[1]); dfs.insert(0,np.inf); wts=[0.4,0.3,0.25,0.05]
        for m in (self.modes if len(self.modes)>1 else []):
            r=np.linalg.cholesky(np.linalg.inv(-m.curvature))
            means+=[m.centre,m.centre]; roots+=[r,1.5*r]; dfs+=[np.inf,5.0]; wts+=[0.3,0.15]
        wts=np.array(wts)/np.sum(wts)
        prop=Mixture(np.array(wts),np.array(means),np.array(roots),np.array(dfs))
        nd=draw(self.joint,prop,size,reps,self.seed.spawn(1)[0])
        for it in range(3):
            if nd.effective>0.5: break
            mix=around(nd, 24)
            prop2=prop.joined(mix,0.75)
            new=draw(self.joint,prop2,size,reps,self.seed.spawn(1)[0])
            if new.effective < nd.effective*1.05 and it>0: break
            nd=new
        return nd
    def round(self):
        sur=self.fit()
        self.nodes=self.make_nodes()
        n=len(self.Z)
        batch=min(self.n-n, max(2, int(np.ceil(0.1*n))))
        return self.acquire(batch)
    def acquire(self, batch):
        sur=self.sur; nd=self.nodes
        rows=np.unique(resample(nd,400)); wide=np.unique(resample(nd,150,power=0.5))
        allr=np.unique(np.concatenate([rows,wide]))
        z=nd.points[allr]; w=nd.weights[allr]; 
        # weights for pi on the candidate set: counts from resampling
        cnt=np.zeros(len(nd.points)); np.add.at(cnt,resample(nd,2000),1); pi=cnt[allr]/cnt[allr].sum()
        pr=sur.predict(z); s=sur.whitening.forward(z)
        C=pr.covariance(sur.kernel(s))
        C=sur.amplitude*C
        if self.sign is not None:
            I=self.sign.draw(s,400,np.random.default_rng(self.seed.spawn(1)[0])).astype(float)
            pr_=np.maximum(I.mean(0),1e-3); D=(I-I.mean(0))/pr_
            C=C+D.T@D/len(D)
        diag=np.maximum(np.diag(C).copy(),1e-300); diag0=diag.copy()
        chosen=[]
        g=nd.log_joint[allr]
        for k in range(batch):
            v=C@pi
            dv=np.diag(C)
            ok=dv>1e-9*diag0
            if k%3!=2: score=np.where(ok, v**2/np.maximum(dv,1e-300), -np.inf)
            else: score=np.where(ok, g-g.max()+np.log(np.expm1(np.minimum(np.maximum(dv,1e-300),50.0))) , -np.inf)
            i=int(np.argmax(score))
            if not np.isfinite(score[i]): break
            chosen.append(i)
            col=C[:,i]/np.sqrt(C[i,i]); C=C-np.outer(col,col)
        if not chosen:
            self.log.append('rank'); return nd.points[resample(nd,batch, offset=0.3)]
        return z[chosen]
    def result(self):
        sur=self.fit(); self.nodes=self.make_nodes()
        prop=self.nodes.proposal
        nd=draw(self.joint,prop,1024,8,self.seed.spawn(1)[0])
        lz,err=nd.log_integral()
        rows=resample(nd,600); z=nd.points[rows]
        pr=sur.predict(z); s=sur.whitening.forward(z)
        K=sur.kernel(s); ones=np.full(len(z),1/len(z))
        first=sur.amplitude*float(pr.weighted_variance(ones, ones@K@ones))
        point=sur.amplitude*float(pr.variance(np.ones(len(z))).mean())
        second=0.5*max(point-first,0)
        # hyper: other family
        vals=np.array([c[0] for c in self.cands]); wt=np.exp(vals-vals.max()); wt/=wt.sum()
        lzs=[]
        for (v,fam,th) in self.cands:
            o=Surrogate(sur.points,sur.values,sur.whitening,sur.offset,sur.basis,fam,th)
            g=self.joint(z,o)-self.joint(z,sur)
            lzs.append(lz+np.log(np.mean(np.exp(np.clip(g,-50,50)))))
        lzs=np.array(lzs); mean=wt@lzs; hyper=wt@(lzs-mean)**2
        # predictive residual inflation
        infl=1.0
        if len(self.resid)>=5:
            R=np.array([r[:3] for r in self.resid[-40:]]); rel=np.exp(-0.3*np.clip(R[:,2],0,60))
            infl=max(1.0, np.sum(rel*R[:,0]**2/np.maximum(R[:,1],1e-16))/rel.sum())
        bound=0.0
        if self.sign is not None:
            # nodes without the sign factor
            lw=nd.log_ratio-self.logpos(nd.points); w=np.exp(lw-lw.max()); e=np.cumsum(w); rr=np.searchsorted(e/e[-1],(np.arange(700)+.5)/700).clip(0,len(w)-1)
            zz=nd.points[rr]; I=self.sign.draw(sur.whitening.forward(zz),300,np.random.default_rng(self.seed.spawn(1)[0]))
            m=np.maximum(I.mean(1),1e-3); bound=float(np.var(np.log(m)))
        var=bound+infl*(first)+infl**2*second**2+hyper+err**2+1e-16
        self.parts=dict(bound=bound**.5,first=first**.5,second=second,hyper=hyper**.5,nodes=err,infl=infl,ess=self.nodes.effective,basis=sur.basis,fam=sur.family.name,theta=np.round(np.exp(sur.theta),2),amp=sur.amplitude)
        return mean, np.sqrt(var)

def run(p, n, seed=0, verbose=False):
    from ..measures import Gaussian
    if isinstance(p.prior, Gaussian):
        m=p.prior.mean; Lr=np.linalg.cholesky(p.prior.cov); to=lambda z: m+z@Lr.T
    else: to=lambda z: p.prior.from_uniform(ndtr(z))
    e=Engine(p.dim,n,seed)
    while len(e.Z)<n:
        z=e.ask()
        if len(z)==0: break
        e.tell(z,p.log_likelihood(to(z)))
    lz,sd=e.result()
    return lz,sd,e
