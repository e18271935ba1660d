"""stand-in"""
from __future__ import annotations

import tarfile
from dataclasses import dataclass

from structopt.formats.trees import penn
from structopt.formats.trees.penn import Node


@dataclass(frozen=True)
class Treebank:
    path: str
    trees: tuple[Node, ...] | None
    words: list[list[str]]
    tags: list[list[str]]
    lines: list[int]
    tagged: bool = True
    def __len__(self): return len(self.words)
def of(trees, path):
    leaves=[[l for l in t.leaves() if l.label!='-NONE-'] for t in trees]
    return Treebank(path, tuple(trees), [[l.word for l in x] for x in leaves], [[l.label for l in x] for x in leaves], [t.line for t in trees])
def read(path, limit=None, labelled=True, encoding='utf8'):
    p=str(path)
    if p.startswith('PTB'):
        lo,hi=map(int,p[3:].split('-')); out=[]
        with tarfile.open('/work/shared/data/ptb_sample/treebank_combined.tar.gz') as a:
            for x in sorted(m.name for m in a if m.isfile()):
                if x.endswith('.mrg') and lo<=int(x[-8:-4])<=hi: out+=penn.parse(a.extractfile(x).read().decode(),x)
        return of(out[:limit],p)
    return of(penn.parse(open(path).read(),p,limit),p)
def in_memory(instances):
    out=[]
    for x in instances:
        words=x['tokens'] if isinstance(x,dict) else list(x)
        tags=x.get('tags') if isinstance(x,dict) else None
        out.append((words,tags or ['']*len(words)))
    return Treebank('memory',None,[w for w,_ in out],[t for _,t in out],list(range(1,len(out)+1)))
def write(treebank,target,outputs,probabilities=None,ranked=None,encoding='utf8'):
    open(target,'w').write(''.join(f'{o}\n' for o in outputs))
